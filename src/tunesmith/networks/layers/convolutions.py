"""Convolutions of images: plain, grouped, depthwise and transposed."""

from __future__ import annotations

from tunesmith.networks.graph import Node
from tunesmith.networks.layers.layer import Layer, new_layer
from tunesmith.operators import conv2d, conv2d_transpose, depthwise_conv2d


def match_conv2d(node: Node) -> Layer | None:
    """A convolution of NCHW data by OIHW weights."""
    given = node.attributes
    if (given["data_layout"], given["kernel_layout"]) != ("NCHW", "OIHW"):
        return None
    data, weight = node.inputs
    n, ci, h, w = data.shape
    co, inner, *kernel = weight.shape
    common = {
        "n": n,
        "h": h,
        "w": w,
        "kernel": tuple(kernel),
        "stride": given["strides"],
        "padding": given["padding"],
        "dilation": given["dilation"],
        "dtype": data.dtype,
        "constant_weights": weight.constant is not None,
    }
    if inner == 1 and given["groups"] == ci > 1:
        depthwise = depthwise_conv2d(c=ci, multiplier=co // ci, **common)
        return new_layer(depthwise, (data, weight), node)
    plain = conv2d(ci=ci, co=co, groups=given["groups"], **common)
    return new_layer(plain, (data, weight), node)


def match_conv2d_transpose(node: Node) -> Layer | None:
    """A transposed convolution of NCHW data by IOHW weights."""
    given = node.attributes
    layouts = (given["data_layout"], given["kernel_layout"])
    if layouts != ("NCHW", "IOHW") or given["dilation"] != (1, 1) or given["groups"] != 1:
        return None
    # What is not cut off the end of the output is added to it.
    top, left, bottom, right = given["padding"]
    below, beside = given["output_padding"]
    data, weight = node.inputs
    n, ci, h, w = data.shape
    _, co, rows, columns = weight.shape
    operator = conv2d_transpose(
        n=n,
        ci=ci,
        h=h,
        w=w,
        co=co,
        kernel=(rows, columns),
        stride=given["strides"],
        padding=(top, left),
        output_padding=(below + top - bottom, beside + left - right),
        dtype=data.dtype,
        constant_weights=weight.constant is not None,
    )
    return new_layer(operator, (data, weight), node)
