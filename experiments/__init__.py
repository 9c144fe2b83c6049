"""Experiments with perchtree, through its public interface only."""
