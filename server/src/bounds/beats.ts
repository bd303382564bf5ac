// Beats: regular work for many streams, spread over its period instead of all at once.

import type { Own } from '../../../kit/src/owner.ts';

const parts = 15;

/** Whether the stream with this number has its beat in a part of the period. */
export const isInPart = (number: number, part: number) => number % parts === part;

/** Calls `beat` for each part of the period, in turn. Returns the function that stops it. */
export function startBeats(own: Own, seconds: number, beat: (part: number) => void): () => void {
  let part = 0;
  const next = () => {
    beat(part);
    part = (part + 1) % parts;
  };
  const timer = setInterval(own(next), (seconds * 1000) / parts);
  timer.unref();
  return () => clearInterval(timer);
}
