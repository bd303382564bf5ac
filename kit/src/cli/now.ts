// The clock of the command lines: epoch seconds.

export const now = (): number => Date.now() / 1000;
