// A time, told from now; its date and time are a glance away.

interface TimeProps {
  /** Epoch seconds. */
  at: number;
  /** As words: "in 8 hours". */
  relative: string;
  /** In full. */
  full: string;
}

export function Time({ at, relative, full }: TimeProps) {
  return (
    <time dateTime={new Date(at * 1000).toISOString()} title={full}>
      {relative}
    </time>
  );
}
