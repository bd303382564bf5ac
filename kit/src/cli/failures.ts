// The ways in which a command does not succeed, each with its exit code.

/** A failure that its message explains: exit code 1. */
export class Failure extends Error {}

/** A command line that was not understood: exit code 2. */
export class UsageFault extends Error {}
