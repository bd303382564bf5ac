// Settings that are wrong, in the environment or in the files that they name.

/** The message has a line for each. */
export class SettingsFault extends Error {}
