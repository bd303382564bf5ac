// Whether the server can be reached now, provided around the pages.
import { createContext } from 'preact';

/** Undefined if it is unknown. */
export const Reached = createContext<boolean | undefined>(undefined);
