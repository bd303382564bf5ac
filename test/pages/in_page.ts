// Runs in the page before the console does: what tests would else ask of the browser in many messages.

/** A response is old after this: `staleTime` of the console's `reading.ts`. */
const staleMs = 15_000;

/** Longer than anything takes that comes at all. */
const patienceMs = 20_000;

export const inPage = `(() => {
  if (location.origin === 'null') return;
  sessionStorage.setItem('exitward-operator-token', 'ewo_fake');
  // No pause before what has failed is read again: its length is a matter of chance.
  Math.random = () => 0;

  const { now } = Date;
  let ahead = 0;
  Date.now = () => now() + ahead;

  const { fetch } = globalThis;
  let running = 0;
  globalThis.fetch = (...given) => {
    running += 1;
    return fetch(...given).finally(() => { running -= 1; });
  };

  const isSeen = (one) => one.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const nameOf = (one) =>
    (one.getAttribute('aria-label') ?? one.innerText).trim().replace(/\\s+/g, ' ');
  const until = async (is, what) => {
    for (const end = performance.now() + ${patienceMs}; !(await is()); )
      if (performance.now() > end) throw new Error('it waits in vain: ' + what);
  };

  // No answer is waited for, and what has begun to be shown is shown.
  const isQuiet = () => new Promise((done) =>
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(() => done(running === 0)))));
  const settled = () =>
    until(async () => (await isQuiet()) && all('.loading, .spinner').length === 0, 'for all to be read');

  const age = async () => {
    await until(isQuiet, 'for all answers');
    ahead += ${staleMs} + 1;
  };
  const go = async (path) => {
    location.hash = path;
    await settled();
    await until(async () => (await isQuiet()) && document.querySelector('h1'), 'for ' + path);
  };
  const forget = async () => {
    for (const close of all('.toast .icon-only')) close.click();
    // Loaded already: the modules of the console.
    for (const { src, href } of document.querySelectorAll('script[type=module], [rel=modulepreload]'))
      Object.values(await import(src ?? href)).find((one) => one?.getQueryCache)?.clear();
  };

  const namesOf = (selector) =>
    [...new Set(all(selector).filter((one) => one.ariaDisabled !== 'true').map(nameOf))];
  // As a finger would: not through something that lies over it.
  const pressOne = (one) => {
    one.scrollIntoView({ block: 'nearest' });
    const { left, top, width, height } = one.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + height / 2);
    if (![one, ...(one.labels ?? [])].some((part) => part.contains(over)))
      throw new Error(nameOf(one) + ' is covered');
    one.focus();
    one.click();
  };
  const press = async (names) => {
    for (const name of names) {
      let found;
      const isThere = async () => {
        found = all('main :is(button, [role=menuitem], input[type=checkbox])').find(
          (one) => !one.disabled && nameOf(one) === name);
        return found || ((await isQuiet()), false);
      };
      await until(isThere, 'for ' + name);
      if (!found.checked) pressOne(found);
      await isQuiet();
    }
    await settled();
  };
  Object.assign(globalThis, { isQuiet, age, go, forget, namesOf, press, pressOne });
})()`;
