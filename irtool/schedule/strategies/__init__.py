"""Strategies: ways to schedule a stage of a kernel, a folder for each kind, which compete for it by their costs.

base            strategies, the facts of a stage that they use, and the choice among candidates
parts, staged   stages that are scheduled as several blocks or stages
loops           the loops of lowering
side_by_side    independent steps of such loops, a vector of them at a time
by_hand, tuned  choices from outside
plugin_checks   checks of strategies from plug-ins
"""
