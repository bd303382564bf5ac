// A page whose code is fetched when it is first opened.
import type { FunctionComponent } from 'preact';
import { useEffect, useState } from 'preact/hooks';

/** Wraps `load`; shows that it works until the code is there, and offers another try when it does not come. */
export function lazy<P extends object>(
  load: () => Promise<FunctionComponent<P>>,
): FunctionComponent<P> {
  let known: FunctionComponent<P> | undefined;
  return function Lazy(props: P) {
    const [Loaded, setLoaded] = useState<FunctionComponent<P> | undefined>(() => known);
    const [failed, setFailed] = useState(false);
    useEffect(() => {
      if (Loaded) return;
      load().then(
        (component) => {
          known = component;
          setLoaded(() => component);
        },
        () => setFailed(true),
      );
    }, [Loaded]);
    if (Loaded) return <Loaded {...props} />;
    if (failed) {
      return (
        <main class="page" id="main" role="alert">
          <p>This page could not be fetched; the server may have been renewed.</p>
          <p>
            <button type="button" class="button" onClick={() => location.reload()}>
              Reload
            </button>
          </p>
        </main>
      );
    }
    return (
      <main class="page" id="main">
        <p class="loading" role="status">
          <span class="spinner" aria-hidden="true" /> Opening the page …
        </p>
      </main>
    );
  };
}
