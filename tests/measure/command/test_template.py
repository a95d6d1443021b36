"""Command lines with fields."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.properties import examples
from tunesmith.errors import InstantiationError, UsageError
from tunesmith.measure.command.template import parse_shell_stage, parse_stages
from tunesmith.space import Categorical, Config, Factorization, Ordinal, Permutation, Space

SPACE = Space(
    [
        Ordinal("unroll", (1, 2, 4)),
        Ordinal("rate", (0.5, 1e-9)),
        Categorical("fast", (True, False)),
        Categorical("text", ("plain", "two words", "; touch x", "$(touch x)", "`x`", "'", '"', "")),
        Factorization("tile", 12, 3),
        Permutation("order", ("i", "j")),
        Categorical("pair", ((1, 2), (1, 2, 3))),
    ]
)
CONFIG = Config(
    {
        "unroll": 4,
        "rate": 0.5,
        "fast": True,
        "text": "two words",
        "tile": (1, 3, 4),
        "order": ("j", "i"),
        "pair": (1, 2),
    }
)


def arguments(template: str, config: Config = CONFIG) -> list[list[str]]:
    return [stage.arguments(config) for stage in parse_stages(template, SPACE)]


def refusal(template: str, *, shell: bool = False) -> str:
    with pytest.raises(UsageError) as caught:
        (parse_shell_stage if shell else parse_stages)(template, SPACE)
    assert "\n" not in str(caught.value).replace(template, "")
    return str(caught.value)


# --- Without a shell


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("gcc -O2 x.c", [["gcc", "-O2", "x.c"]]),
        ("gcc -funroll={unroll}", [["gcc", "-funroll=4"]]),
        ("gcc x.c && ./a.out {unroll}", [["gcc", "x.c"], ["./a.out", "4"]]),
        ("a&&b&&c", [["a"], ["b"], ["c"]]),
        ("a {text}", [["a", "two words"]]),
        ("a x{text}y{unroll}", [["a", "xtwo wordsy4"]]),
        ("a {tile[0]} {tile[2]}", [["a", "1", "4"]]),
        ("a {tile} {order}", [["a", "1,3,4", "j,i"]]),
        ("a {fast} {rate}", [["a", "true", "0.5"]]),
        ("a {{unroll}} {{{unroll}}}", [["a", "{unroll}", "{4}"]]),
        ("a 'b c' \"d e\" f\\ g", [["a", "b c", "d e", "f g"]]),
        ("a 'x{unroll} y'", [["a", "x4 y"]]),
        ("a '&&' '|' \";\" \\>", [["a", "&&", "|", ";", ">"]]),
        ("a '' $HOME *.c ~", [["a", "", "$HOME", "*.c", "~"]]),
        ("a\n  b\n", [["a", "b"]]),
        ("a print(1)", [["a", "print(1)"]]),
        ("{text} {unroll}", [["two words", "4"]]),
    ],
)
def test_templates_become_argument_lists(template: str, expected: list[list[str]]) -> None:
    assert arguments(template) == expected


@given(st.text())
def test_a_value_never_leaves_its_argument(value: str) -> None:
    [[program, argument]] = arguments("a {text}", Config({**CONFIG, "text": value}))
    assert (program, argument) == ("a", value)


@given(st.lists(st.text(st.characters(exclude_characters="{}"), min_size=1), min_size=1))
def test_words_are_split_as_a_shell_does(words: list[str]) -> None:
    assert arguments(shlex.join(words)) == [words]


@pytest.mark.parametrize("operator", ["|", "||", ";", "&", ">", ">>", "<", "2>&1", "&>", "&&&"])
def test_other_operators_ask_for_a_shell(operator: str) -> None:
    assert "shell=True" in refusal(f"a {operator} b")


@pytest.mark.parametrize("template", ["", "  ", "a &&", "&& a", "a && && b"])
def test_empty_stages_are_refused(template: str) -> None:
    assert "stage is empty" in refusal(template)


@pytest.mark.parametrize("template", ["a 'b", 'a "b', "a \\", "it's"])
def test_open_quotes_are_refused(template: str) -> None:
    assert "has no end" in refusal(template)


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("a {unrol}", "unknown field 'unrol': did you mean unroll?"),
        ("a {unrol[0]}", "unknown field 'unrol': did you mean unroll?"),
        ("a {}", "unknown field ''"),
        ("a {tile.0}", "did you mean tile?"),
        ("a {tile[-1]}", "did you mean tile?"),
        ("a {tile[3]}", "field '{tile[3]}': the members of tile are 0 to 2"),
        ("a {unroll[0]}", "field '{unroll[0]}': unroll is not a tuple: write {unroll}"),
        ("a {unroll", "lone '{': double it"),
        ("a unroll}", "lone '}': double it"),
    ],
)
@pytest.mark.parametrize("shell", [False, True])
def test_bad_fields_are_refused(template: str, reason: str, shell: bool) -> None:
    assert reason in refusal(template, shell=shell)


def test_a_parameter_may_be_called_like_an_index() -> None:
    space = Space([Ordinal("x[0]", (7,)), Factorization("x", 6, 2)])
    [stage] = parse_stages("a {x[0]} {x[1]}", space)
    assert stage.arguments(Config({"x[0]": 7, "x": (2, 3)})) == ["a", "7", "3"]


def test_a_member_that_this_config_lacks_makes_no_command() -> None:
    [stage] = parse_stages("a {pair[1]}", SPACE)
    assert stage.arguments(CONFIG) == ["a", "2"]
    with pytest.raises(InstantiationError, match=r"pair is \(1,\): it has no \[1\]"):
        stage.arguments(Config({**CONFIG, "pair": (1,)}))


def test_the_program_is_known_where_it_has_no_field() -> None:
    assert parse_stages("gcc {text}", SPACE)[0].program == "gcc"
    assert parse_stages("'my gcc'", SPACE)[0].program == "my gcc"
    assert parse_stages("./{text}", SPACE)[0].program is None


# --- With a shell


@examples(20)
@given(st.text(st.characters(exclude_characters="\0", codec="utf-8"), max_size=20))
def test_the_shell_takes_any_value_for_one_word(value: str) -> None:
    stage = parse_shell_stage("printf %s-%s {text} $(printf %s {text})", SPACE)
    command = stage.arguments(Config({**CONFIG, "text": value}))
    result = subprocess.run(command, capture_output=True, check=True)
    # Command substitution drops newlines at the end and splits what it is not quoted for.
    assert result.stdout.startswith(f"{value}-".encode())


def test_the_shell_gets_the_template_as_it_is() -> None:
    stage = parse_shell_stage("a 'b c' | d > {text} && e ${{HOME}} # done", SPACE)
    script = "a 'b c' | d > 'two words' && e ${HOME} # done"
    assert stage.arguments(CONFIG) == ["/bin/sh", "-c", script]
    assert stage.program == "/bin/sh"


@pytest.mark.parametrize(
    "template",
    [
        "a '{text}'",
        'a "{text}"',
        'a "x $(b {text})"',
        "a `b {text}`",
        "a # {text}",
        "# don't\na '{text}'",
        "a \\{text}",
        "a ${text}",
        "cat <<EOF\n{text}\nEOF",
    ],
)
def test_fields_that_the_shell_would_misread_are_refused(template: str) -> None:
    message = refusal(template, shell=True)
    assert message.startswith("field '{text}'")


@pytest.mark.parametrize("template", ["a#{text}", "a \\'{text}", "a 'it' {text}", "a \\${text}"])
def test_fields_outside_quotes_are_fine(template: str) -> None:
    assert parse_shell_stage(template, SPACE).arguments(CONFIG)[2].endswith("'two words'")


def test_an_empty_shell_command_is_refused() -> None:
    assert refusal(" \n", shell=True) == "the command is empty: write a program"


def test_python_is_given_its_program_whole() -> None:
    [stage] = parse_stages(f"{sys.executable} -c 'print({{unroll}} * 2)'", SPACE)
    result = subprocess.run(stage.arguments(CONFIG), capture_output=True, check=True)
    assert result.stdout.strip() == b"8"
