// Runs in the page before the console does: what tests would else ask of the browser in many
// messages.

/** A response is old after this: `staleTime` of the console's `reading.ts`. */
const staleMs = 15_000;

/** Longer than anything takes that comes at all, on a machine with much else to do. */
const patienceMs = 90_000;

/** The console pauses no longer than this before it reads, as for the next letter of a search. */
const momentMs = 1_000;

export const inPage = `(() => {
  if (location.origin === 'null') return;
  sessionStorage.setItem('exitward-operator-token', 'ewo_fake');
  // No pause before what has failed is read again: its length is a matter of chance.
  Math.random = () => 0;
  // Nor does anything end, go or come because a slow machine took long.
  globalThis.setInterval = () => 0;
  const clock = performance.now.bind(performance);
  performance.now = () => 0;

  const { now } = Date;
  let ahead = 0;
  Date.now = () => now() + ahead;

  // The page rests when no timer of a moment runs, and no response is missing, to its last byte.
  const { setTimeout, clearTimeout, fetch } = globalThis;
  let running = 0;
  let writes = 0;
  const awaited = (of, name) => {
    const original = of[name];
    of[name] = function (...given) {
      running += 1;
      return original.apply(this, given).finally(() => { running -= 1; });
    };
  };
  globalThis.fetch = (url, options) => {
    if (options?.method !== undefined && options.method !== 'GET') writes += 1;
    return fetch(url, options);
  };
  awaited(globalThis, 'fetch');
  awaited(Response.prototype, 'text');
  awaited(Blob.prototype, 'text');
  const moments = new Set();
  globalThis.setTimeout = (call, delay = 0, ...given) => {
    if (delay > ${momentMs}) return 0;
    const timer = setTimeout(() => {
      moments.delete(timer);
      call(...given);
    });
    moments.add(timer);
    return timer;
  };
  globalThis.clearTimeout = (timer) => {
    moments.delete(timer);
    clearTimeout(timer);
  };
  // Callbacks for the next frame run at once, even if the browser draws none.
  globalThis.requestAnimationFrame = (call) => globalThis.setTimeout(() => call(clock()));
  globalThis.cancelAnimationFrame = globalThis.clearTimeout;

  const isSeen = (element) => element.checkVisibility();
  const all = (selector) => [...document.querySelectorAll(selector)].filter(isSeen);
  const nameOf = (element) =>
    (element.getAttribute('aria-label') ?? element.innerText).trim().replace(/\\s+/g, ' ');
  const until = async (is, what, patience = ${patienceMs}) => {
    for (const end = clock() + patience; !(await is()); )
      if (clock() > end) throw new Error('it waits in vain: ' + what);
  };

  const isResting = () => running === 0 && moments.size === 0;
  // Nothing is waited for, and what has begun to be shown is shown.
  const isQuiet = () => new Promise((done) =>
    setTimeout(() => setTimeout(() => done(isResting()))));
  const quiet = () => until(isQuiet, 'for all answers');
  const settled = () =>
    until(async () => (await isQuiet()) && all('.loading, .spinner').length === 0, 'for all to be read');

  // Nothing is drawn from here on: only where things are, and what they say, is looked at.
  const veil = () => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync('html { opacity: 0 !important; }');
    document.adoptedStyleSheets = [sheet];
  };
  const unveil = () => {
    document.adoptedStyleSheets = [];
  };

  const age = async () => {
    await quiet();
    ahead += ${staleMs} + 1;
  };
  const go = async (path) => {
    veil();
    location.hash = path;
    await settled();
    await until(async () => (await isQuiet()) && document.querySelector('h1'), 'for ' + path);
  };
  // The cache of responses, from the modules of the console, which are loaded already.
  const cache = async () => {
    for (const { src, href } of document.querySelectorAll('script[type=module], [rel=modulepreload]')) {
      const client = Object.values(await import(src ?? href)).find((element) => element?.getQueryCache);
      if (client) return client;
    }
    throw new Error('the console has no cache of responses');
  };
  // A read that fails is not tried again by itself.
  const tryOnce = async () => {
    const client = await cache();
    const { queries } = client.getDefaultOptions();
    client.setDefaultOptions({ queries: { ...queries, retry: false } });
  };
  const forget = async () => {
    for (const close of all('.toast .icon-only')) close.click();
    (await cache()).clear();
  };
  // As after a change by another user.
  const readAgain = async () => {
    await (await cache()).invalidateQueries();
    await settled();
  };
  const readFailed = async () => {
    await (await cache()).refetchQueries({ type: 'active', predicate: ({ state }) => state.status === 'error' });
    await settled();
  };

  const namesOf = (selector) =>
    [...new Set(all(selector).filter((element) => element.ariaDisabled !== 'true').map(nameOf))];
  // As a finger would: not through something that lies over it.
  const pressOne = (element) => {
    element.scrollIntoView({ block: 'nearest' });
    const { left, top, width, height } = element.getBoundingClientRect();
    const over = document.elementFromPoint(left + width / 2, top + height / 2);
    if (![element, ...(element.labels ?? [])].some((part) => part.contains(over)))
      throw new Error(nameOf(element) + ' is covered');
    element.focus();
    element.click();
  };
  const press = async (names) => {
    for (const name of names) {
      let control;
      const isThere = async () => {
        control = all('main :is(button, [role=menuitem], input[type=checkbox])').find(
          (element) => !element.disabled && nameOf(element) === name);
        return control || ((await isQuiet()), false);
      };
      await until(isThere, 'for ' + name);
      if (!control.checked) pressOne(control);
      await isQuiet();
    }
    await settled();
  };
  // Takes back what was done last, if there is a way to.
  const undo = async () => {
    const button = all('.toast button').findLast((element) => nameOf(element) === 'Undo');
    if (button) pressOne(button);
    await settled();
    return button !== undefined;
  };
  const text = async () => {
    await quiet();
    return (document.querySelector('dialog[open]') ?? document.body).innerText;
  };

  // The form that lies on top, as a trial of forms asks for it.
  const form = () =>
    document.querySelector('dialog[open] form.form, main:not(:has(dialog[open])) form.form');
  const isText = ({ type }) => !/^(checkbox|radio|select-one|file|hidden)$/.test(type);
  const controls = () =>
    [...form().querySelectorAll('input, select, textarea')].filter(
      (element) => element.checkVisibility() && !element.disabled && element.name);
  const controlOf = (name) =>
    form().querySelector(':is(input, select, textarea)[name="' + name + '"]');
  const fieldsOf = () => controls().map(({ name }) => name);
  const keyOfForm = () =>
    form() && form().querySelector('button[type=submit]').innerText + ': ' + fieldsOf().join(' ');
  const submit = () => pressOne(form().querySelector('button[type=submit]'));
  // Whether that sends a change.
  const sends = async (act) => {
    const before = writes;
    await act();
    await until(async () => writes > before || (await isQuiet()), 'for a change');
    return writes > before;
  };
  const change = async (element, does) => {
    element.focus();
    does();
    for (const type of ['input', 'change']) element.dispatchEvent(new Event(type, { bubbles: true }));
    await isQuiet();
  };
  // Not by the console's own setters, as somebody who types.
  const type = (element, text) =>
    change(element, () =>
      Object.getOwnPropertyDescriptor(Object.getPrototypeOf(element), 'value').set.call(element, text));

  // Sends the form without what it requires: how many fields these are, and how many it marks.
  const submitNothing = async () => {
    const names = controls().filter((element) => isText(element) && element.required).map(({ name }) => name);
    for (const name of names) await type(controlOf(name), '');
    if (names.length > 0) submit();
    await quiet();
    const isMarked = (name) => form().querySelector('[name="' + name + '"][aria-invalid=true]');
    return { required: names.length, invalid: names.filter(isMarked).length };
  };
  // Submits the form as it was opened, unless a required field is empty.
  const submitUnchanged = async () => {
    if (!form().checkValidity()) return;
    submit();
    await settled();
  };
  const fill = async (texts, ofTypes) => {
    const isReading = () => /^Reading /m.test(
      [...form().querySelectorAll('option')].map((element) => element.textContent).join('\\n'));
    for (const { name, required, value, type: kind } of controls()) {
      await until(async () => !isReading() || ((await isQuiet()), false), 'for the options');
      const element = controlOf(name);
      // A choice before it decides which fields there are.
      if (!element) continue;
      if (kind === 'file') {
        const files = new DataTransfer();
        files.items.add(new File(['{"servers": []}'], 'a.json', { type: 'application/json' }));
        await change(element, () => { element.files = files.files; });
      } else if (kind === 'checkbox') {
        if (required && !element.checked) element.click();
      } else if (kind === 'select-one') {
        const values = [...element.options].map((option) => option.value);
        await type(element, values.find((other) => other && other !== value) ?? value);
      } else if (isText(element)) await type(element, texts[name] ?? ofTypes[kind] ?? 'other');
    }
  };
  const fillAndSubmit = async (...given) => {
    await fill(...given);
    submit();
  };
  // Whether the form says this, and marks the field.
  const says = async (text, field) => {
    await quiet();
    const said = form()?.innerText.includes(text) ?? false;
    const isMarked = form()?.querySelector('[name="' + field + '"][aria-invalid=true]') != null;
    return { said, isMarked };
  };
  // The faults of a form that should have succeeded, once all is read.
  const wrongOf = async (key) => {
    await settled();
    const isThere = keyOfForm() === key;
    const wrong = isThere
      ? [...form().querySelectorAll(':invalid:not(fieldset), .fault:not(:empty, .banner)')].map((element) =>
        [element.name, element.validationMessage ?? element.innerText].filter(Boolean).join(': '))
      : [];
    return { isThere, wrong, isSaid: all('.toast').length > 0 };
  };
  Object.assign(globalThis, {
    ...{ unveil, settled, quiet, age, go, forget, tryOnce, readAgain, readFailed, namesOf, press, undo, text },
    ...{ keyOfForm, fieldsOf, sends, submit, submitUnchanged, submitNothing, fillAndSubmit, says, wrongOf },
  });
})()`;
