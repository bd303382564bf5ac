// The colours of what is drawn on a canvas: those of the style sheet, as they are in the theme that is on.

/** How many `--series-N` there are in the style sheet; then they come round again. */
export const series_colors = 7;

/**
 * A variable of the style sheet, resolved: a canvas knows neither variables nor light-dark(). Asked of
 * a new element, as one that is there may still be on its way from the colour of the theme before.
 */
export function drawnColor(within: HTMLElement, variable: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${variable})`;
  within.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
