"""Strategies: ways to schedule a stage of a kernel, a folder for each kind, which compete for it by their costs.

base            what a strategy is, what it needs to know of a stage, and the choice among offers
parts, staged   stages that are scheduled as several blocks or stages
loops           the loops as they are lowered
side_by_side    independent steps of such loops, a vector of them at a time
by_hand, tuned  choices from outside
plugin_checks   checks of strategies from plug-ins
"""
