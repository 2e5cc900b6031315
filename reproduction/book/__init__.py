"""Figures, tables, running notebooks and building the site."""
