"""Rewritings that leave fewer and plainer operations; each is a function from graph to graph."""

from __future__ import annotations

from tunesmith.networks.graph import Graph, rewritten
from tunesmith.networks.simplify.activations import name_activations
from tunesmith.networks.simplify.attention import write_out_attention
from tunesmith.networks.simplify.batch_norm import fold_batch_norm
from tunesmith.networks.simplify.concatenations import join_concatenations
from tunesmith.networks.simplify.constants import fold_constants
from tunesmith.networks.simplify.identities import drop_identities
from tunesmith.networks.simplify.means import means_as_pooling, split_reductions
from tunesmith.networks.simplify.padding import fold_padding
from tunesmith.networks.simplify.products import transposed_products
from tunesmith.networks.simplify.sequences import sequences_as_images
from tunesmith.networks.simplify.slices import plain_indices, plain_slices
from tunesmith.networks.simplify.views import join_views

# In this order. Batch norm is folded into weights that are constants by then.
_RULES = (
    fold_constants,
    drop_identities,
    fold_batch_norm,
    sequences_as_images,
    fold_padding,
    means_as_pooling,
    split_reductions,
    name_activations,
    write_out_attention,
    transposed_products,
    plain_slices,
    join_views,
    join_concatenations,
    plain_indices,
    drop_identities,
)


def simplified(graph: Graph) -> Graph:
    """The same network with what can be computed now computed, and the rest plainer."""
    for rule in _RULES:
        graph = rewritten(graph, rule)
    return graph
