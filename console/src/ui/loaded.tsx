// Shows that something is being read, or why it could not be.
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
  // While the server is away, the frame says so of all.
  const isSaid = useContext(Reached) === false;
  const { data, error, refetch } = of;
  if (data !== undefined) {
    return (
      <>
        {Boolean(error) && !isSaid && (
          <p
            class="fault banner"
            role="alert"
          >{`${explain(error).sentence} What you see may be old.`}</p>
        )}
        {children(data)}
      </>
    );
  }
  if (error) {
    return (
      <div class="empty" role="alert">
        <p class="empty-title">{`Could not read ${what}.`}</p>
        <p>{explain(error).sentence}</p>
        <Button onClick={() => void refetch()}>Try again</Button>
      </div>
    );
  }
  return <Loading>{`Reading ${what} …`}</Loading>;
}

/** Says what could not be read, where the rest is shown without it. */
export function Unread({ of, what }: Omit<LoadedProps<unknown>, 'children'>) {
  return of.error ? (
    <Loaded of={of} what={what}>
      {() => null}
    </Loaded>
  ) : null;
}

/** Several readings as one, whose data is there once all of them are read. */
export function together<T>(all: ReadonlyArray<Reading<T>>): Reading<T[]> {
  const data = all.flatMap((one) => (one.data === undefined ? [] : [one.data]));
  return {
    data: data.length === all.length ? data : undefined,
    error: all.find(({ error }) => error)?.error,
    refetch: () => all.map(({ refetch }) => refetch()),
  };
}

/** Says what is being waited for. */
export function Loading({ children }: { children: ComponentChildren }) {
  return (
    <p class="loading" role="status">
      <span class="spinner" aria-hidden="true" /> {children}
    </p>
  );
}
