// Text that is searched for while it is typed: passed on when the typing pauses, so that not each
// letter is a request.
import { useEffect, useRef, useState } from 'preact/hooks';

const pauseMs = 100;

/**
 * The typed text, and its setter; `handOn` gets it after a pause. It follows `value` when that is
 * set from elsewhere.
 */
export function useTyped(
  value: string,
  handOn: (value: string) => void,
): [string, (text: string) => void] {
  const [typed, setTyped] = useState(value);
  const handed = useRef(value);
  useEffect(() => {
    if (value === handed.current) return;
    handed.current = value;
    setTyped(value);
  }, [value]);
  useEffect(() => {
    if (typed === handed.current) return;
    const timer = setTimeout(() => {
      handed.current = typed;
      handOn(typed);
    }, pauseMs);
    return () => clearTimeout(timer);
  });
  return [typed, setTyped];
}

/** Whether a text looks like a whole address; the server decides. */
export const isAddress = (text: string) =>
  /^\d{1,3}(\.\d{1,3}){3}$/.test(text) || (/^[\da-f:.]+$/i.test(text) && /:.*:/.test(text));
