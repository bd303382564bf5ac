// The keys that open the palette, on this machine, and those that are not the console's.

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
/** The keys, as this machine labels them. */
export const paletteKeys = isMac ? '⌘ K' : 'Ctrl K';

/**
 * Whether a key is an input method's, whose Enter takes the word that it offers. Safari has ended
 * the composition by then, and says so by the old code alone.
 */
export const isComposing = (event: KeyboardEvent) => event.isComposing || event.keyCode === 229;
