// The head of a page: its name is the document's title, and gets the focus when the page opens.
import { type ComponentChildren, createContext } from 'preact';
import { useContext, useEffect, useRef } from 'preact/hooks';

interface PageProps {
  /** Left out by pages of the menu: their name there. */
  title?: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

/** False until the first page was shown: at the start the browser sets the focus. */
let hasShown = false;

/**
 * Shown below the name of every page: a fact about all of them, such as that the contract ended.
 */
export const PageNotice = createContext<string | undefined | null>(undefined);

/** The name in the menu of the page inside, which is its title. */
export const PageName = createContext('');

/** Whether pages inside are parts of a surrounding page, which has the name and the notice. */
export const IsPart = createContext(false);

export function Page(props: PageProps) {
  return useContext(IsPart) ? <Part {...props} /> : <WholePage {...props} />;
}

function Part({ title, note, actions, children }: PageProps) {
  const name = useContext(PageName);
  return (
    <>
      <header class="card-head">
        <div>
          <h2>{title ?? name}</h2>
          {note && <p class="note">{note}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  );
}

function WholePage({ title: own, note, actions, children }: PageProps) {
  const name = useContext(PageName);
  const title = own ?? name;
  const notice = useContext(PageNotice);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Exitward`;
    if (hasShown) heading.current?.focus({ preventScroll: true });
    hasShown = true;
  }, [title]);
  return (
    <main class="page" id="main">
      <header class="page-head">
        <div>
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {note && <p class="note">{note}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {/* Always present, so that screen readers announce the notice. */}
      <p class={notice ? 'banner' : 'visually-hidden'} role="status">
        {notice}
      </p>
      {children}
    </main>
  );
}
