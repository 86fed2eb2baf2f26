"""The chart on a real control plane, from install to uninstall, with the image's content and the chart's rights."""
