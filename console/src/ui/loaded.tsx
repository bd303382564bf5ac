// Shows that something is being read, or why it failed.
import type { ComponentChildren } from 'preact';
import { useContext } from 'preact/hooks';
import { Button } from './button.tsx';
import { Explain } from './explain.ts';
import { Reached } from './reached.ts';

export interface Reading<T> {
  data: T | undefined;
  error: unknown;
  refetch: () => unknown;
}

interface LoadedProps<T> {
  of: Reading<T>;
  /** Its name, for "Reading the authlist …". */
  what: string;
  children: (data: T) => ComponentChildren;
}

export function Loaded<T>({ of, what, children }: LoadedProps<T>) {
  const explain = useContext(Explain);
  // While the server is offline, the frame says so for everything.
  const isShownByFrame = useContext(Reached) === false;
  const { data, error, refetch } = of;
  if (data !== undefined) {
    return (
      <>
        {Boolean(error) && !isShownByFrame && (
          <p
            class="fault banner"
            role="alert"
          >{`${explain(error).sentence} What you see may be out of date.`}</p>
        )}
        {children(data)}
      </>
    );
  }
  if (error) {
    return (
      <div class="empty" role="alert">
        <p class="empty-title">{`Couldn’t load ${what}.`}</p>
        <p>{explain(error).sentence}</p>
        <Button onClick={() => void refetch()}>Try again</Button>
      </div>
    );
  }
  return <Loading>{`Loading ${what} …`}</Loading>;
}

/** Shows what could not be read, while the rest is shown. */
export function Unread({ of, what }: Omit<LoadedProps<unknown>, 'children'>) {
  return of.error ? (
    <Loaded of={of} what={what}>
      {() => null}
    </Loaded>
  ) : null;
}

/** Several readings as one, which has data once all of them are read. */
export function together<T>(all: ReadonlyArray<Reading<T>>): Reading<T[]> {
  const data = all.flatMap((reading) => (reading.data === undefined ? [] : [reading.data]));
  return {
    data: data.length === all.length ? data : undefined,
    error: all.find(({ error }) => error)?.error,
    refetch: () => all.map(({ refetch }) => refetch()),
  };
}

/** Shows what is being loaded. */
export function Loading({ children }: { children: ComponentChildren }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {children}
    </p>
  );
}
