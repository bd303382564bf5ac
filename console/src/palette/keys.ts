// The keys that open the palette, on this machine.

export const isMac = /Mac|iPhone|iPad/.test(navigator.platform);
/** As it is written on the keys of this machine. */
export const paletteKeys = isMac ? '⌘ K' : 'Ctrl K';
