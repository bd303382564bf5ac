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
  reading: Reading<T>;
  /** Its name, for "Loading the authlist …". */
  name: string;
  children: (data: T) => ComponentChildren;
}

export function Loaded<T>({ reading, name, children }: LoadedProps<T>) {
  const explain = useContext(Explain);
  // While the server is offline, the frame says so once for all parts.
  const isShownByFrame = useContext(Reached) === false;
  const { data, error, refetch } = reading;
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
        <p class="empty-title">{`Couldn’t load ${name}.`}</p>
        <p>{explain(error).sentence}</p>
        <Button onClick={() => void refetch()}>Try again</Button>
      </div>
    );
  }
  return <Loading>{`Loading ${name} …`}</Loading>;
}

/** Shows what could not be read, while the rest is shown. */
export function Unread({ reading, name }: Omit<LoadedProps<unknown>, 'children'>) {
  return reading.error ? (
    <Loaded reading={reading} name={name}>
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
