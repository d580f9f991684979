"""Layered drawings of graphs without cycles: ranks, order within ranks, coordinates.

The steps are those of Sugiyama, Tagawa and Toda (Methods for Visual Understanding of Hierarchical System Structures, 1981). Vertices
are numbers, so that nothing here knows what is drawn.
"""
