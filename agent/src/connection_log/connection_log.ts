// The connection log: if the operator wants it, the node keeps which user used which exit, in daily
// files of its own. They stay here; the node answers questions from them (docs/decisions/0104).
import { existsSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import type { Logger } from 'pino';
import {
  createUnfinished,
  makeFolderDurably,
  removeUnfinishedIn,
  renameDurably,
} from '../../../kit/src/durable.ts';
import { SerialQueue } from '../../../kit/src/serial_queue.ts';
import type { Clock } from '../clock.ts';
import type { ConnectionLogSettings } from '../config.ts';
import type { Engine } from '../engine.ts';
import {
  decodeEntry,
  type EndedUse,
  type ExitUse,
  encodeEntry,
  type LogEntry,
  type OpenUse,
  personOf,
} from '../exit_use.ts';
import type { Fault } from '../faults.ts';
import { encodeLine } from '../store/checked_line.ts';
import { syncFolder } from '../store/generations.ts';
import {
  bytesOfDay,
  dayOf,
  daySeconds,
  listDays,
  pathOfDay,
  readDay,
  removeDay,
} from './day_files.ts';
import { ErasedPeople } from './erased_people.ts';
import { type FoundUses, findUses, type UseQuestion } from './find_uses.ts';

export const connectionLogFolder = (state_dir: string) => join(state_dir, 'connections');

export interface ConnectionLogOptions {
  dir: string;
  settings: ConnectionLogSettings;
  engine: Pick<Engine, 'usesUnderWay' | 'takeEndedUses'>;
  clock: Clock;
  log: Logger;
}

/** Whether there is a log, for status and answers. */
export interface ConnectionLogState {
  mode: ConnectionLogSettings['mode'];
  /** The start of the oldest day in the files; epoch seconds. Undefined: there is none. */
  kept_since?: number;
}

/** A power cut loses the uses of about this long, a killed agent as well. */
export const writeSeconds = 2;
const tidySeconds = 3600;
/** A clock that is off by more than this against the steady one was set: nothing is removed. */
const maxDriftSeconds = 3600;
/** More uses are not held while the disk takes none. */
const maxWaiting = 200_000;
/** A turn of the event loop looks at this many: others wait for it meanwhile. */
const lookedAtTogether = 2000;

export class ConnectionLog {
  readonly #options: ConnectionLogOptions;
  /** Writing, erasing and removing run one at a time. Searching waits for none of them. */
  readonly #queue = new SerialQueue();
  readonly #searches = new SerialQueue();
  #erased: ErasedPeople | undefined;
  #file: { handle: FileHandle; day: number; isTorn: boolean } | undefined;
  /** The open uses that the file of the day lists. */
  #listed = new Map<string, OpenUse>();
  /** Uses that have ended and are not written yet, while the disk takes none. */
  #waiting: EndedUse[] = [];
  /** How many uses are missing from the log, and since when. */
  #missing: { uses: number; since: number } | undefined;
  /** The newest day that was removed before its time. */
  #removedEarly: number | undefined;
  #fault: string | undefined;
  #isStarted = false;
  /** Wall clock less steady clock, and when it was last seen to jump, in steady seconds. */
  #drift: { offset: number; jumped_at: number } | undefined;

  constructor(options: ConnectionLogOptions) {
    this.#options = options;
  }

  get state(): ConnectionLogState {
    const { dir, settings } = this.#options;
    const [kept_since] = listDays(dir);
    return { mode: settings.mode, ...(kept_since === undefined ? {} : { kept_since }) };
  }

  /** Writes until the signal is aborted, and removes what is too old. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let tidied_at = Number.NEGATIVE_INFINITY; !signal.aborted; ) {
      if (clock.steady() - tidied_at >= tidySeconds) {
        tidied_at = clock.steady();
        await this.tidy();
      }
      await this.write();
      await clock.sleep(writeSeconds, signal);
    }
  }

  /** Writes what is new, and has it on the disk. An error of the disk is a fault, and no more. */
  write(): Promise<void> {
    if (this.#options.settings.mode === 'off') return Promise.resolve();
    return this.#attempt(() => this.#write());
  }

  /** Removes the files whose days are over for longer than they are kept. */
  tidy(): Promise<void> {
    return this.#attempt(async () => {
      const { dir, settings, clock } = this.#options;
      if (existsSync(dir)) removeUnfinishedIn(dir);
      if (listDays(dir).length === 0 || this.#isClockDoubtful()) return;
      await this.#eraseAll();
      for (const day of listDays(dir)) {
        if (day + daySeconds * (settings.days + 1) <= clock.now()) this.#remove(day);
      }
    });
  }

  /** Errors: those of the disk. */
  find(question: UseQuestion): Promise<FoundUses> {
    return this.#searches.run(async () => {
      await this.write();
      const { dir } = this.#options;
      if (listDays(dir).length === 0) return { uses: [], more: 0 };
      const erased = this.#people();
      return findUses(dir, question, (person) => erased.has(person));
    });
  }

  /** Whether there is anything to erase from. */
  get hasFiles(): boolean {
    const { dir, settings } = this.#options;
    return settings.mode !== 'off' || listDays(dir).length > 0;
  }

  /**
   * Erases these people, all that were ever erased: nothing of them is found or written from here
   * on, and their lines are gone when it returns. Errors: those of the disk; the next `tidy`
   * continues.
   */
  erase(people: readonly string[]): Promise<void> {
    return this.#queue.run(async () => {
      if (people.length === 0 && listDays(this.#options.dir).length === 0) return;
      makeFolderDurably(this.#options.dir);
      this.#people().set(people);
      await this.#eraseAll();
    });
  }

  faults(): Fault[] {
    const { settings } = this.#options;
    const sentences: string[] = [];
    if (this.#fault !== undefined) {
      sentences.push(`The connection log can't be written: ${this.#fault}.`);
    }
    const size = `${Math.round(settings.max_bytes / 2 ** 20)} MB`;
    if (this.#missing) {
      const { uses, since } = this.#missing;
      sentences.push(
        `The connection log lacks ${uses} connections since ${new Date(since * 1000).toISOString()}: ${this.#fault === undefined ? `its files have reached ${size} on one day` : 'the disk took none'}. They were carried as usual.`,
      );
    }
    if (this.#removedEarly !== undefined) {
      const until = new Date((this.#removedEarly + daySeconds) * 1000).toISOString().slice(0, 10);
      sentences.push(
        `The connection log reached ${size}: its days before ${until} were removed before their time. Raise EXITWARD_AGENT_CONNECTION_LOG_MB, or lower EXITWARD_AGENT_CONNECTION_LOG_DAYS.`,
      );
    }
    return sentences.map((message) => ({ kind: 'connection_log', message }));
  }

  /** Writes the last uses. */
  async close(): Promise<void> {
    await this.write();
    await this.#queue.run(() => this.#closeFile());
  }

  // ---- Writing ----------------------------------------------------------------------------

  async #write(): Promise<void> {
    const { clock, engine, settings } = this.#options;
    const now = clock.now();
    const isNewDay = this.#file?.day !== dayOf(now);
    const entries: LogEntry[] = [];
    if (!this.#isStarted) entries.push({ entry: 'started', at: now });
    const current = new Map<string, OpenUse>();
    let looked = 0;
    for (const use of engine.usesUnderWay()) {
      looked += 1;
      if (looked % lookedAtTogether === 0) await setImmediate();
      current.set(use.key, use);
    }
    // Taken last: what ended meanwhile is among these.
    this.#takeEnded(now);
    const isErased = (use: ExitUse) => this.#people().has(personOf(use));
    for (const use of this.#waiting) {
      const { key } = use;
      const isListed = key !== undefined && this.#listed.has(key);
      if (isErased(use)) continue;
      // The file of an earlier day has the rest of it: a question about today must find it here.
      if (isListed && !isNewDay) entries.push({ entry: 'closed', key, until: use.until });
      else entries.push({ entry: 'ended', ...this.#shortened(use) });
      if (isListed && isNewDay) entries.push({ entry: 'replaced', key });
    }
    const reported = new Set(this.#waiting.map(({ key }) => key));
    for (const [key, use] of this.#listed) {
      if (current.has(key) || reported.has(key)) continue;
      if (use.is_provisional) entries.push({ entry: 'replaced', key });
      else if (!isNewDay) entries.push({ entry: 'closed', key, until: now });
      else if (!isErased(use)) {
        entries.push({ entry: 'ended', ...this.#shortened(use), until: now });
        entries.push({ entry: 'replaced', key });
      }
    }
    for (const [key, use] of current) {
      if (reported.has(key) || (this.#listed.has(key) && !isNewDay) || isErased(use)) continue;
      entries.push({ entry: 'open', ...this.#shortened(use) });
    }
    if (entries.length === 0 || settings.mode === 'off') return;
    if (entries.every(({ entry }) => entry === 'started') && !this.#hasFileOf(now)) return;
    if (!(await this.#append(entries, now))) {
      this.#miss(this.#waiting.length, now);
      this.#waiting = [];
      return;
    }
    this.#isStarted = true;
    this.#waiting = [];
    for (const key of reported) if (key !== undefined) current.delete(key);
    this.#listed = current;
  }

  #takeEnded(now: number): void {
    const { uses, lost } = this.#options.engine.takeEndedUses();
    const room = Math.max(0, maxWaiting - this.#waiting.length);
    this.#waiting = this.#waiting.concat(uses.slice(0, room));
    this.#miss(lost + Math.max(0, uses.length - room), now);
  }

  #hasFileOf(now: number): boolean {
    return listDays(this.#options.dir).includes(dayOf(now));
  }

  /** With no more than the setting allows. */
  #shortened<Use extends ExitUse>(use: Use): Use {
    if (this.#options.settings.mode === 'destinations') return use;
    return { ...use, destination: undefined, dialled: undefined };
  }

  /** False: there is no room. Errors: those of the disk. */
  async #append(entries: readonly LogEntry[], now: number): Promise<boolean> {
    const lines = Buffer.concat(entries.map((entry) => encodeLine(encodeEntry(entry))));
    if (!this.#makeRoom(lines.length, dayOf(now))) return false;
    const file = await this.#open(dayOf(now));
    // The line before may be cut off.
    const bytes = file.isTorn ? Buffer.concat([Buffer.from('\n'), lines]) : lines;
    file.isTorn = true;
    await file.handle.appendFile(bytes);
    await file.handle.datasync();
    file.isTorn = false;
    return true;
  }

  async #open(day: number) {
    if (this.#file?.day === day) return this.#file;
    await this.#closeFile();
    const { dir } = this.#options;
    makeFolderDurably(dir);
    const isTorn = bytesOfDay(dir, day) > 0;
    const handle = await open(pathOfDay(dir, day), 'a', 0o600);
    this.#file = { handle, day, isTorn };
    await syncFolder(dir);
    return this.#file;
  }

  async #closeFile(): Promise<void> {
    const { handle } = this.#file ?? {};
    this.#file = undefined;
    await handle?.close();
  }

  /** Removes the oldest days until there is room. False: today alone is too large. */
  #makeRoom(bytes: number, today: number): boolean {
    const { dir, settings } = this.#options;
    const days = listDays(dir);
    let all = days.reduce((sum, day) => sum + bytesOfDay(dir, day), bytes);
    for (const day of days) {
      if (all <= settings.max_bytes || day >= today) break;
      all -= bytesOfDay(dir, day);
      this.#remove(day);
      this.#removedEarly = day;
    }
    return all <= settings.max_bytes;
  }

  #miss(uses: number, now: number): void {
    if (uses === 0) return;
    this.#missing = { uses: (this.#missing?.uses ?? 0) + uses, since: this.#missing?.since ?? now };
  }

  // ---- Removing ---------------------------------------------------------------------------

  #remove(day: number): void {
    removeDay(this.#options.dir, day);
    this.#options.log.info({ day }, 'a day of the connection log was removed');
  }

  /** Whether the clock was set lately: by a wrong one, days would be removed that are to stay. */
  #isClockDoubtful(): boolean {
    const { clock, settings } = this.#options;
    const steady = clock.steady();
    const offset = clock.now() - steady;
    const before = this.#drift ?? { offset, jumped_at: Number.NEGATIVE_INFINITY };
    const hasJumped = Math.abs(offset - before.offset) > maxDriftSeconds;
    this.#drift = { offset, jumped_at: hasJumped ? steady : before.jumped_at };
    const oldest = dayOf(clock.now()) - settings.days * daySeconds;
    if (this.#removedEarly !== undefined && this.#removedEarly < oldest) {
      this.#removedEarly = undefined;
    }
    if (this.#missing && this.#missing.since < oldest) this.#missing = undefined;
    return steady - this.#drift.jumped_at < maxDriftSeconds;
  }

  #people(): ErasedPeople {
    this.#erased ??= new ErasedPeople(this.#options.dir);
    return this.#erased;
  }

  async #eraseAll(): Promise<void> {
    const { dir } = this.#options;
    // A power cut during an erasure left lines in these.
    removeUnfinishedIn(dir);
    const erased = this.#people();
    const people = new Set(erased.pending);
    if (people.size === 0) return;
    // It may be the file of today.
    await this.#closeFile();
    for (const day of listDays(dir)) await rewrite(dir, day, people);
    erased.done(people);
  }

  /** Runs after all earlier work. An error is a fault until the next success. */
  #attempt(work: () => Promise<void>): Promise<void> {
    return this.#queue.run(async () => {
      try {
        await work();
        this.#fault = undefined;
      } catch (error) {
        this.#fault = (error as Error).message;
        this.#options.log.error({ err: error }, 'the connection log needs attention');
      }
    });
  }
}

/** Replaces a day's file by one without the lines of these people. Errors: those of the disk. */
async function rewrite(dir: string, day: number, people: ReadonlySet<string>): Promise<void> {
  const isTheirs = (text: string) => {
    const entry = decodeEntry(text);
    return entry !== undefined && 'user' in entry && people.has(personOf(entry));
  };
  let isConcerned = false;
  await readDay(dir, day, (text) => {
    isConcerned ||= isTheirs(text);
  });
  if (!isConcerned) return;
  const path = pathOfDay(dir, day);
  const unfinished = createUnfinished(path);
  try {
    const file = await open(unfinished, 'a', 0o600);
    try {
      const others: Buffer[] = [];
      const visit = (text: string) => {
        if (!isTheirs(text)) others.push(encodeLine(text));
      };
      const onPiece = () => file.appendFile(Buffer.concat(others.splice(0)));
      await readDay(dir, day, visit, { onPiece });
      await onPiece();
    } finally {
      await file.close();
    }
    renameDurably(unfinished, path);
  } finally {
    rmSync(unfinished, { force: true });
  }
}
