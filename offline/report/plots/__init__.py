"""Figures as inline SVG: drawn by matplotlib, coloured by the page's own style sheet, light and dark."""
