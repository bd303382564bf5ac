// Whether the server is reached now, as whoever frames the pages knows it.
import { createContext } from 'preact';

/** Undefined where nobody knows. */
export const Reached = createContext<boolean | undefined>(undefined);
