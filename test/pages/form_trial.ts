// Tries one form of the console, knowing nothing of it: what it refuses by itself, what it sends,
// and how it shows each answer.
import { effort } from '../effort.ts';
import type { FakeAnswer, FakeRequest } from './fake_api.ts';
import type { FakeConsole } from './fake_console.ts';

/** The text that is typed into fields, by their names; the others get what their types take. */
const texts: Record<string, string> = {
  addresses: '203.0.113.9',
  at: '2026-11-26 14:02',
  bases: '20000 proxy',
  expiry: '2029-01-01 10:00',
  limit_bytes: '5',
  'limits.active_until': '2029-01-01 10:00',
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

export const isWrite = ({ operation }: FakeRequest) => !operation.startsWith('GET ');

export class FormTrial {
  readonly faults: string[] = [];
  readonly #t: FakeConsole;
  #key = '';

  constructor(t: FakeConsole) {
    this.#t = t;
  }

  /** Names the form by what it holds, if there is one: the same one may stand in several places. */
  async key(): Promise<string | undefined> {
    return ((await this.#t.does('keyOfForm()')) as string | null) ?? undefined;
  }

  /** A form of one record sends only what was changed: as it was opened, nothing. */
  async changesNothing(): Promise<void> {
    const { fake, visit } = this.#t;
    this.#t.recover();
    visit.mayBeUnreachable = true;
    fake.answer(({ method }) => (method === 'GET' ? undefined : { status: 500 }));
    const isOfOneRecord = (await this.key())?.startsWith('Save');
    await this.#t.does('submitUnchanged()');
    const { operation = '', body } = fake.requests.findLast(isWrite) ?? {};
    if (isOfOneRecord && /^(PATCH|PUT) /.test(operation))
      this.faults.push(`sends what nobody changed: ${JSON.stringify(body)}`);
  }

  /** Goes through all of it, or the success alone, and ends with that. */
  async run(key: string, isShort: boolean): Promise<void> {
    this.#t.recover();
    this.#key = key;
    if (!isShort) await this.#refusesNothing();
    const gate = Promise.withResolvers<void>();
    const answer = isShort ? {} : { status: 503, after: gate.promise };
    const types = [texts, ofTypes].map((texts) => JSON.stringify(texts)).join();
    const request = await this.#submit(answer, `fillAndSubmit(${types})`);
    if (!isShort && request) {
      // A choice may decide which fields there are.
      this.#key = (await this.key()) ?? key;
      await this.#staysOpen();
    }
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
    const { required, invalid } = (await this.#t.does('submitNothing()')) as {
      required: number;
      invalid: number;
    };
    if (required === 0) return;
    if (invalid < required) this.faults.push('takes required fields that are empty');
    if (this.#t.fake.requests.some(isWrite))
      this.faults.push('sends required fields that are empty');
  }

  /** While it is sent, nobody closes it: they would not learn what came of it. */
  async #staysOpen(): Promise<void> {
    await this.#t.visit.page.keyboard.press('Escape');
    if ((await this.key()) !== this.#key) this.faults.push('is closed while it is sent');
  }

  /**
   * A refusal that names a field is shown at that field: one of each form on a submission, else
   * all.
   */
  async #names({ body }: FakeRequest): Promise<void> {
    const sent = typeof body === 'object' && body !== null ? Object.keys(body) : [];
    const controls = new Set((await this.#t.does('fieldsOf()')) as string[]);
    const fields = sent.filter((name) => controls.has(name));
    for (const field of effort === 'deep' ? fields : fields.slice(0, 1)) {
      await this.#submit({ status: 400, field });
      const isMarked = await this.#says('is refused by the fake', `a refusal of "${field}"`, field);
      if (!isMarked) this.faults.push(`does not mark "${field}" when it is refused`);
    }
  }

  /** The form is gone, or another, or shows nothing that is wrong. */
  async #hasSucceeded(): Promise<{ isThere: boolean; isSaid: boolean }> {
    const { wrong, ...rest } = (await this.#t.does(`wrongOf(${JSON.stringify(this.#key)})`)) as {
      isThere: boolean;
      wrong: string[];
      isSaid: boolean;
    };
    this.faults.push(...wrong.map((fault) => `does not succeed: ${fault}`));
    return rest;
  }

  /** It sends nothing, and says that everything is so already. */
  async #hasNothingToDo(): Promise<void> {
    const { isThere, isSaid } = await this.#hasSucceeded();
    if (isThere || !isSaid) this.faults.push('sends nothing, and does not say why');
  }

  /** Sends what the step before has left in its fields. */
  async confirm(key: string): Promise<void> {
    this.#key = key;
    if (await this.#submit()) await this.#hasSucceeded();
    else this.faults.push('sends nothing');
  }

  async #submit(answer: FakeAnswer = {}, call = 'submit()'): Promise<FakeRequest | undefined> {
    const { fake, visit } = this.#t;
    this.#t.recover();
    if (answer.status) {
      visit.mayBeUnreachable = answer.status >= 500;
      fake.answer(({ method }) => (method === 'GET' ? undefined : answer));
    }
    const isSent = await this.#t.does(`sends(() => ${call})`);
    return isSent ? await fake.next(isWrite) : undefined;
  }

  /** Whether the field is marked when it says so. */
  async #says(text: string, what: string, field = ''): Promise<boolean> {
    const { said, isMarked } = (await this.#t.does(`says('${text}', '${field}')`)) as {
      said: boolean;
      isMarked: boolean;
    };
    if (!said) this.faults.push(`does not show ${what}`);
    return isMarked;
  }
}
