// The address of the page, all in the fragment: the path of a view, and behind a "?" the state of it (filters, sort, range, tab,
// open dialog), so that reload, back and a link to a colleague give the same view. Logs of servers see neither secrets nor searches.
import { signal } from '@preact/signals';

const fragment = signal(location.hash);

const parts = (of: string) => {
  const [path = '', search = ''] = of.replace(/^#?\/?/, '').split(/\?(.*)/s, 2);
  return { path: `/${path}`, search: new URLSearchParams(search) };
};

/** A path with the state that the view there is to have: `addressOf(paths.authlist, { user: 'bob' })`. */
export function addressOf(path: string, state: URLSearchParams | Record<string, string>): string {
  const search = new URLSearchParams(state).toString();
  return search ? `${path}?${search}` : path;
}

function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) {
    history.replaceState(history.state, '', `#${to}`);
  } else {
    keepScroll();
    history.pushState(null, '', `#${to}`);
    scrollTo(0, 0);
  }
  fragment.value = location.hash;
}

/** For wouter's router, which takes the path alone. */
export const usePath = Object.assign(
  (): [string, typeof navigate] => [parts(fragment.value).path, navigate],
  { hrefs: (href: string) => `#${href}` },
);

/**
 * A part of the state of a view: its text in the address, and how it is set; the standard is not written. Setting it makes no
 * step of its own in the history: "back" leads to the view before.
 */
export function useAddressState(name: string, standard = ''): [string, (value: string) => void] {
  const set = (value: string) => {
    const { path, search } = parts(fragment.peek());
    if (value === standard) search.delete(name);
    else search.set(name, value);
    navigate(addressOf(path, search), { replace: true });
  };
  return [parts(fragment.value).search.get(name) ?? standard, set];
}

// The place on the page is kept with each step of the history. The browser's own way would come before the rows are there.
const patience_milliseconds = 3_000;
let isBack = false;

function keepScroll(): void {
  history.replaceState({ scroll: scrollY }, '');
}

function comeBackTo(scroll: number): void {
  isBack = true;
  setTimeout(() => (isBack = false), patience_milliseconds);
  const step = () => {
    if (!isBack) return;
    scrollTo(0, scroll);
    if (Math.abs(scrollY - scroll) <= 1) isBack = false;
    else requestAnimationFrame(step);
  };
  step();
}

/** Follows what the browser does to the address. */
export function followAddress(): void {
  history.scrollRestoration = 'manual';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keepSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(keepScroll, 100);
  };
  // Of the view that is left nothing is kept under the address of the next one.
  const leave = () => {
    clearTimeout(timer);
    fragment.value = location.hash;
  };
  addEventListener('scroll', () => !isBack && keepSoon(), { passive: true });
  for (const own of ['wheel', 'touchmove', 'keydown']) {
    addEventListener(own, () => (isBack = false), { passive: true });
  }
  addEventListener('hashchange', leave);
  addEventListener('popstate', ({ state }) => {
    leave();
    comeBackTo((state as { scroll?: number } | null)?.scroll ?? 0);
  });
  comeBackTo((history.state as { scroll?: number } | null)?.scroll ?? 0);
}
