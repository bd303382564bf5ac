// The keys that open the palette, on this machine.

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
/** The keys, as this machine labels them. */
export const paletteKeys = isMac ? '⌘ K' : 'Ctrl K';
