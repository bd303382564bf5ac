// How errors are put into words: the parts show them, and the page around knows how to say them.
import { createContext } from 'preact';

export interface Fault {
  /** The fault, and a way to put it right. */
  sentence: string;
  /** The field of a form that it is about, where the server named one. */
  field: string | undefined;
}

/** Puts an error into words; provided once, around all pages. */
export const Explain = createContext<(error: unknown) => Fault>((error) => ({
  sentence: String(error),
  field: undefined,
}));
