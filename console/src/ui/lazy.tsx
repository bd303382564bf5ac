// A page whose code is loaded when it is first opened.
import type { FunctionComponent } from 'preact';
import { useContext, useEffect, useRef, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Loading } from './loaded.tsx';
import { Page } from './page.tsx';
import { Reached } from './reached.ts';

/**
 * Wraps `load`; shows progress until the code is there, and tries again when the server is back.
 */
export function lazy<P extends object>(
  load: () => Promise<FunctionComponent<P>>,
): FunctionComponent<P> {
  let loadedComponent: FunctionComponent<P> | undefined;
  return function Lazy(props: P) {
    const [Loaded, setLoaded] = useState<FunctionComponent<P> | undefined>(() => loadedComponent);
    const [failed, setFailed] = useState(false);
    const isFirst = useRef(true);
    const reached = useContext(Reached);
    useEffect(() => {
      if (Loaded || !(isFirst.current || reached)) return;
      isFirst.current = false;
      load().then(
        (component) => {
          loadedComponent = component;
          setLoaded(() => component);
        },
        () => setFailed(true),
      );
    }, [Loaded, reached]);
    if (Loaded) return <Loaded {...props} />;
    if (failed) return <Failed reached={reached} />;
    return (
      <main class="page" id="main">
        <Loading>Opening the page …</Loading>
      </main>
    );
  };
}

function Failed({ reached }: { reached: boolean | undefined }) {
  return (
    <Page title="Couldn’t open this page">
      <p role="alert">{reached === undefined ? unknown : reached ? renewed : away}</p>
      {/* While the server is offline, a reload would leave an empty page. */}
      {reached !== false && (
        <p>
          <Button kind="primary" onClick={() => location.reload()}>
            Reload
          </Button>
        </p>
      )}
    </Page>
  );
}

const away = 'Couldn’t reach the server. The page opens once it is back.';
const renewed = 'The server was updated since you opened this console. Reload it.';
const unknown = 'The server is offline, or was updated since you opened this console.';
