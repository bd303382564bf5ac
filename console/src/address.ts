// The address of the page, all in the fragment: the path of a view, and after a "?" its state
// (filters, sort, range, tab, open dialog). So reload, back and a shared link give the same view,
// and logs of servers see neither secrets nor searches.
import { computed, signal } from '@preact/signals';
import { addressOf } from './paths.ts';

const fragment = signal(location.hash);

const parts = (text: string) => {
  const [path = '', search = ''] = text.replace(/^#?\/?/, '').split(/\?(.*)/s, 2);
  return { path: `/${path}`, search: new URLSearchParams(search) };
};

function navigate(to: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) {
    replaceInHistory(`#${to}`);
  } else {
    keepScroll();
    history.pushState(null, '', `#${to}`);
    scrollTo(0, 0);
  }
  fragment.value = `#${to}`;
}

/**
 * Browsers limit the steps in half a minute, and fast typing exceeds it: the next step that is
 * accepted has everything.
 */
function replaceInHistory(hash: string): void {
  try {
    history.replaceState(history.state, '', hash);
  } catch {
    // The view follows `fragment` meanwhile.
  }
}

const path = computed(() => parts(fragment.value).path);

/** For wouter's router, which needs only the path. */
export const usePath = Object.assign((): [string, typeof navigate] => [path.value, navigate], {
  hrefs: (href: string) => `#${href}`,
});

/**
 * Parts of the state of a view by name: their texts in the address, and a setter. A default is not
 * written. Setting adds no step to the history: "back" leads to the previous view. A view that was
 * left sets nothing.
 */
export function useAddressStates<T extends Record<string, string>>(
  standards: T,
): [T, (changes: Partial<T>) => void] {
  const view = path.value;
  const set = (changes: Partial<T>) => {
    const { path: shown, search } = parts(fragment.peek());
    if (shown !== view) return;
    for (const [name, value] of Object.entries(changes)) {
      if (value === standards[name]) search.delete(name);
      else search.set(name, String(value));
    }
    navigate(addressOf(view, search), { replace: true });
  };
  const { search } = parts(fragment.value);
  const names = Object.keys(standards);
  const texts = names.map((name) => [name, search.get(name) ?? standards[name]]);
  return [Object.fromEntries(texts), set];
}

/** The same for a single part. */
export function useAddressState(name: string, standard = ''): [string, (value: string) => void] {
  const [state, set] = useAddressStates({ [name]: standard });
  return [state[name] ?? standard, (value) => set({ [name]: value })];
}

/** The same, as the props of the field with that name. */
export function useAddressField(name: string, standard = '') {
  const [value, onInput] = useAddressState(name, standard);
  return { name, value, onInput };
}

/** The whole state of the view, for a way back to it. */
export const useAddressSearch = () => parts(fragment.value).search;

// The scroll position is stored with each step of the history: the browser would restore it before
// the rows are there.
const patienceMs = 3_000;
let isBack = false;

function keepScroll(): void {
  history.replaceState({ scroll: scrollY }, '');
}

function comeBackTo(scroll: number): void {
  isBack = true;
  setTimeout(() => (isBack = false), patienceMs);
  const step = () => {
    if (!isBack) return;
    scrollTo(0, scroll);
    if (Math.abs(scrollY - scroll) <= 1) isBack = false;
    else requestAnimationFrame(step);
  };
  step();
}

/** Follows changes of the address by the browser. */
export function followAddress(): void {
  history.scrollRestoration = 'manual';
  let timer: ReturnType<typeof setTimeout> | undefined;
  const keepSoon = () => {
    clearTimeout(timer);
    timer = setTimeout(keepScroll, 100);
  };
  // Nothing of the old view is stored under the address of the next one.
  const leave = () => {
    clearTimeout(timer);
    fragment.value = location.hash;
  };
  addEventListener('scroll', () => !isBack && keepSoon(), { passive: true });
  for (const eventName of ['wheel', 'touchmove', 'keydown']) {
    addEventListener(eventName, () => (isBack = false), { passive: true });
  }
  addEventListener('hashchange', leave);
  addEventListener('popstate', ({ state }) => {
    leave();
    comeBackTo((state as { scroll?: number } | null)?.scroll ?? 0);
  });
  comeBackTo((history.state as { scroll?: number } | null)?.scroll ?? 0);
}
