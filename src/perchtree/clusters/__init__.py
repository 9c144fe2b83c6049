"""From a tree to flat clusters: cuts, ids that stay, a point that stands for each."""
