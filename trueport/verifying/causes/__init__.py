"""Why a node departs: hypotheses, each tried in float64 on the very inputs, kept if they give the target's numbers."""

from trueport.verifying.causes.explain import explain

__all__ = ["explain"]
