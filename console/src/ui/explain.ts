// How errors become sentences: parts show them, and the surrounding page provides the function.
import { createContext } from 'preact';

export interface Fault {
  /** The problem, and its remedy. */
  sentence: string;
  /** The field of the form, if the server named one. */
  field: string | undefined;
}

/** Explains an error; provided once, around all pages. */
export const Explain = createContext<(error: unknown) => Fault>((error) => ({
  sentence: String(error),
  field: undefined,
}));
