// Tries one form of the console, knowing nothing of it: what it refuses by itself, what it sends, and how it shows each answer.
import type { Locator } from 'playwright-core';
import { effort } from '../effort.ts';
import type { FakeAnswer, FakeRequest } from './fake_api.ts';
import type { FakeConsole } from './fake_console.ts';

/** What is typed into fields, by their names; the rest gets what their types take. */
const texts: Record<string, string> = {
  addresses: '203.0.113.9',
  bases: '20000 proxy',
  expiry: '2029-01-01 10:00',
  limit_bytes: '5',
  code: '123456',
  confirmation: '1',
  country: 'SE',
  display_name: 'Bob',
  hostname: 'www.example.net',
  ip: '203.0.113.9',
  latitude: '59.3',
  longitude: '18.1',
  second_factor_code: '123456',
};
const ofTypes: Record<string, string> = { number: '7', password: 'a long password' };

interface Control {
  name: string;
  type: string;
  isRequired: boolean;
  /** Of a select: the values that it offers. */
  options: string[];
  value: string;
}

const isWrite = ({ operation }: FakeRequest) => !operation.startsWith('GET ');

export class FormTrial {
  readonly faults: string[] = [];
  readonly #t: FakeConsole;
  readonly #form: Locator;
  #key = '';

  constructor(t: FakeConsole, form: Locator) {
    this.#t = t;
    this.#form = form;
  }

  /** Names the form by what it holds: the same one may stand in several places. */
  async key(): Promise<string> {
    return (await this.#state())?.key ?? '';
  }

  /** Goes through all of it, or the success alone, and ends with that. */
  async run(isShort: boolean): Promise<void> {
    this.#t.recover();
    this.#key = await this.key();
    if (!isShort) await this.#refusesNothing();
    await this.#fill();
    const gate = Promise.withResolvers<void>();
    const request = await this.#submit(isShort ? {} : { status: 503, after: gate.promise });
    if (!isShort && request) await this.#staysOpen();
    gate.resolve();
    if (!request) return await this.#hasNothingToDo();
    if (!isShort) {
      await this.#says('The fake answers 503', 'a failure');
      await this.#names(request);
      await this.#submit();
    }
    await this.#hasSucceeded();
  }

  /** Its required fields, emptied, keep it from being sent. */
  async #refusesNothing(): Promise<void> {
    const controls = await this.#controls();
    const required = controls.filter(({ type, isRequired }) => isRequired && isText(type));
    for (const { name } of required) await this.#control(name).fill('');
    if (required.length === 0) return;
    await this.#press();
    const invalid = await this.#form.locator(':invalid:not(fieldset)').count();
    if (invalid < required.length) this.faults.push('takes required fields that are empty');
    if (this.#t.fake.requests.some(isWrite))
      this.faults.push('sends required fields that are empty');
  }

  async #fill(): Promise<void> {
    const reading = this.#form.locator('option', { hasText: /^Reading / });
    await reading.first().waitFor({ state: 'detached' });
    for (const { name, type, isRequired, options, value } of await this.#controls()) {
      const control = this.#control(name);
      if (type === 'file') {
        const buffer = Buffer.from('{"servers": []}');
        await control.setInputFiles({ name: 'a.json', mimeType: 'application/json', buffer });
      } else if (type === 'checkbox' && isRequired) await control.check();
      else if (type === 'select-one')
        await control.selectOption(options.find((one) => one && one !== value) ?? value);
      else if (isText(type)) await control.fill(texts[name] ?? ofTypes[type] ?? 'other');
    }
  }

  /** While it is sent, nobody closes it: they would not learn what came of it. */
  async #staysOpen(): Promise<void> {
    await this.#t.visit.page.keyboard.press('Escape');
    if (!(await this.#isThere())) this.faults.push('is closed while it is sent');
  }

  /** A refusal that names a field is shown at that field: one of each form on a submission, else all. */
  async #names({ body }: FakeRequest): Promise<void> {
    const sent = typeof body === 'object' && body !== null ? Object.keys(body) : [];
    const controls = new Set((await this.#controls()).map(({ name }) => name));
    const fields = sent.filter((one) => controls.has(one));
    for (const field of effort === 'deep' ? fields : fields.slice(0, 1)) {
      await this.#submit({ status: 400, field });
      await this.#says('is refused by the fake', `a refusal of "${field}"`);
      const invalid = this.#form.locator(`[name="${field}"][aria-invalid=true]`);
      const isSeen = (await invalid.count()) > 0;
      if (!isSeen) this.faults.push(`does not mark "${field}" when it is refused`);
    }
  }

  /** The form is gone, or another, or shows nothing that is wrong. */
  async #hasSucceeded(): Promise<void> {
    await this.#t.visit.settled();
    if (!(await this.#isThere())) return;
    const wrong = this.#form.locator(':invalid:not(fieldset), .fault:not(:empty, .banner)');
    // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are not known here.
    const said = await wrong.evaluateAll((all: any[]) =>
      all.map((one) =>
        [one.name, one.validationMessage ?? one.innerText].filter(Boolean).join(': '),
      ),
    );
    this.faults.push(...said.map((one) => `does not succeed: ${one}`));
  }

  /** It sends nothing, and says that everything is so already. */
  async #hasNothingToDo(): Promise<void> {
    await this.#hasSucceeded();
    const isSaid = !(await this.#isThere()) && (await this.#t.visit.toast('').count()) > 0;
    if (!isSaid) this.faults.push('sends nothing, and does not say why');
  }

  async #isThere(): Promise<boolean> {
    return (await this.key()) === this.#key;
  }

  async #submit(answer: FakeAnswer = {}): Promise<FakeRequest | undefined> {
    const { fake, visit } = this.#t;
    this.#t.recover();
    if (answer.status) {
      visit.mayBeUnreachable = answer.status >= 500;
      fake.answer(({ method }) => (method === 'GET' ? undefined : answer));
    }
    await this.#press();
    return await fake.next(isWrite);
  }

  async #says(text: string, what: string): Promise<void> {
    const said = this.#form.getByText(text).first();
    await said.waitFor({ timeout: 3_000 }).catch(() => this.faults.push(`does not show ${what}`));
  }

  #control(name: string): Locator {
    return this.#form.locator(`[name="${name}"]:is(input, select, textarea)`).first();
  }

  async #controls(): Promise<Control[]> {
    return (await this.#state())?.controls ?? [];
  }

  /** The form as it is now, if it is there. */
  async #state(): Promise<{ key: string; controls: Control[] } | undefined> {
    // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are not known here.
    const [state] = await this.#form.evaluateAll((forms: any[]) =>
      forms.map((form) => {
        const controls: Control[] = [...form.querySelectorAll('input, select, textarea')]
          .filter((one) => one.checkVisibility() && !one.disabled && one.name)
          .map((one) => ({
            name: one.name,
            type: one.type,
            isRequired: one.required,
            options: [...(one.options ?? [])].map(({ value }) => value),
            value: one.value,
          }));
        const verb = form.querySelector('button[type=submit]').innerText;
        return { key: [verb, ...controls.map(({ name }) => name)].join(' '), controls };
      }),
    );
    return state;
  }

  async #press(): Promise<void> {
    const submit = this.#form.locator('button[type=submit]');
    // biome-ignore lint/suspicious/noExplicitAny: the types of the browser are not known here.
    await submit.evaluate((button) => (globalThis as any).pressOne(button));
  }
}

const isText = (type: string) => !/^(checkbox|radio|select-one|file|hidden)$/.test(type);
