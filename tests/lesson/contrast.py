"""Contrast as the guidelines for accessible pages define it (WCAG 2.2)."""

from __future__ import annotations


def contrast(one: tuple[float, ...], other: tuple[float, ...]) -> float:
    """From 1 to 21; colours are red, green and blue up to 255."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: tuple[float, ...]) -> float:
    """From 0 for black to 1 for white."""
    parts = [value / 255 for value in colour]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
