// The connection log: if the operator wants it, the node logs which user used which exit, in daily
// files. They never leave the node, which answers questions from them (docs/decisions/0104).
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
import type { UseQuestion } from '../../../kit/src/node_interface.ts';
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
import { type FoundUses, findUses } from './find_uses.ts';

export const connectionLogFolder = (state_dir: string) => join(state_dir, 'connections');

export interface ConnectionLogOptions {
  dir: string;
  settings: ConnectionLogSettings;
  engine: Pick<Engine, 'usesUnderWay' | 'takeEndedUses'>;
  clock: Clock;
  log: Logger;
}

/** Which log the node keeps, for its status and its answers. */
export interface ConnectionLogState {
  mode: ConnectionLogSettings['mode'];
  /** The start of the oldest day in the files; epoch seconds. Undefined: there is none. */
  kept_since?: number;
}

/** A power cut, or a killed agent, loses about this much. */
export const writeSeconds = 2;
const tidySeconds = 3600;
/** If the clock jumps by more than this, nothing is removed for as long. */
const maxDriftSeconds = 3600;
/** Most uses held in memory while the disk cannot be written. */
const maxWaiting = 200_000;
/** Upper bound of the lines that end a use or start an agent. */
const endBytes = 64;
/** A turn of the event loop looks at this many uses, since other work waits meanwhile. */
const maxOfTurn = 2000;

/** Has a key if the log lists it as open. */
type WaitingUse = EndedUse & Pick<OpenUse, 'is_provisional'>;

export class ConnectionLog {
  readonly #options: ConnectionLogOptions;
  /** Writing, erasing and removing run one at a time. Searches do not wait for them. */
  readonly #queue = new SerialQueue();
  readonly #searches = new SerialQueue();
  #erased: ErasedPeople | undefined;
  #file: { handle: FileHandle; day: number; isTorn: boolean } | undefined;
  /** The open uses that the day's file lists. */
  #listed = new Map<string, OpenUse>();
  #listedDay: number | undefined;
  /** Uses that have ended and are not written yet. */
  #waiting: WaitingUse[] = [];
  /** How many uses are missing from the log, and since when. */
  #missing: { uses: number; since: number } | undefined;
  /** The newest day that was removed early. */
  #removedEarly: number | undefined;
  #fault: string | undefined;
  /** Whether the files have the start of this agent. */
  #isStarted = false;
  readonly #startSteadySeconds: number;
  /** The wall clock less the steady one, and the last jump, in steady seconds. */
  #drift: { offset: number; jumped_at: number } | undefined;

  constructor(options: ConnectionLogOptions) {
    this.#options = options;
    this.#startSteadySeconds = options.clock.steady();
  }

  get state(): ConnectionLogState {
    const { dir, settings } = this.#options;
    const [kept_since] = listDays(dir);
    return { mode: settings.mode, ...(kept_since === undefined ? {} : { kept_since }) };
  }

  /** When this agent started, in epoch seconds of the clock as it is set now. */
  get #startedAt(): number {
    const { clock } = this.#options;
    return Math.round(clock.now() - (clock.steady() - this.#startSteadySeconds));
  }

  /** Writes, and removes old files, until the signal is aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    for (let lastTidyAt = Number.NEGATIVE_INFINITY; !signal.aborted; ) {
      if (clock.steady() - lastTidyAt >= tidySeconds) {
        lastTidyAt = clock.steady();
        await this.tidy();
      }
      await this.write();
      await clock.sleep(writeSeconds, signal);
    }
  }

  /** Writes and syncs what is new. A disk error becomes a fault; it is not thrown. */
  write(): Promise<void> {
    if (this.#options.settings.mode === 'off') return Promise.resolve();
    return this.#attempt(() => this.#write());
  }

  /** Removes files older than the retention time. */
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

  /** The uses that a question is about, also those not written yet. Errors: those of the disk. */
  find(question: UseQuestion): Promise<FoundUses> {
    return this.#searches.run(async () => {
      await this.write();
      const { dir } = this.#options;
      if (listDays(dir).length === 0) return { uses: [], more: 0 };
      const erased = this.#people();
      const ends = new Map(this.#waiting.map(({ key, until }) => [key, until]));
      return findUses(dir, question, {
        isErased: (person) => erased.has(person),
        endOf: (key) => ends.get(key) ?? (this.#isStarted ? undefined : this.#startedAt),
      });
    });
  }

  /** Whether there may be lines to erase. */
  get hasFiles(): boolean {
    const { dir, settings } = this.#options;
    return settings.mode !== 'off' || listDays(dir).length > 0;
  }

  /**
   * `people` is the full list of erased people. From now on they are neither found nor written,
   * and their lines are gone when this resolves. Errors: those of the disk; the next `tidy`
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
        `${uses} connections since ${new Date(since * 1000).toISOString()} are missing from the connection log because ${this.#fault === undefined ? `its files reached ${size} on one day` : 'the disk could not be written'}. The connections themselves were not affected.`,
      );
    }
    if (this.#removedEarly !== undefined) {
      const until = new Date((this.#removedEarly + daySeconds) * 1000).toISOString().slice(0, 10);
      sentences.push(
        `The connection log reached ${size}: days before ${until} were removed early. Raise EXITWARD_AGENT_CONNECTION_LOG_MB, or lower EXITWARD_AGENT_CONNECTION_LOG_DAYS.`,
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
    const { clock, engine, dir } = this.#options;
    const now = clock.now();
    const current = new Map<string, OpenUse>();
    let count = 0;
    for (const use of engine.usesUnderWay()) {
      count += 1;
      if (count % maxOfTurn === 0) await setImmediate();
      current.set(use.key, use);
    }
    // Taken after the open ones, so that no use that ends meanwhile is missed.
    this.#takeEnded(now);
    this.#waiting = this.#waiting.filter((use) => !this.#isErased(use));
    for (const [key, use] of current) if (this.#isErased(use)) current.delete(key);
    const reported = this.#noteGone(current, now);
    const isNewDay = this.#listedDay !== dayOf(now);
    const entries: LogEntry[] = [];
    if (!this.#isStarted) entries.push({ entry: 'started', at: this.#startedAt });
    for (const use of this.#waiting) entries.push(...this.#entriesOf(use, isNewDay));
    for (const [key, use] of current) {
      if (reported.has(key) || (this.#listed.has(key) && !isNewDay)) continue;
      entries.push({ entry: 'open', ...this.#shortened(use) });
    }
    if (entries.length === 0) return;
    if (entries.every(({ entry }) => entry === 'started') && listDays(dir).length === 0) return;
    for (const key of reported) current.delete(key);
    if (await this.#append(entries, now, { restBytes: current.size * endBytes })) {
      this.#isStarted = true;
      this.#waiting = [];
      this.#listed = current;
      this.#listedDay = dayOf(now);
    } else await this.#appendEnds(now);
  }

  /**
   * If there is no room, still logs which uses ended, so that no use appears to last longer than it
   * did. Ended uses that the log does not list are missing. Errors: those of the disk.
   */
  async #appendEnds(now: number): Promise<void> {
    const ends: LogEntry[] = [];
    if (!this.#isStarted) ends.push({ entry: 'started', at: this.#startedAt });
    const listed = this.#waiting.filter(({ key = '' }) => this.#listed.has(key));
    for (const use of listed) ends.push(...this.#entriesOf(use, false));
    this.#miss(this.#waiting.length - listed.length, now);
    this.#waiting = listed;
    if (ends.length === 0 || !(await this.#append(ends, now))) return;
    this.#isStarted = true;
    this.#waiting = [];
    for (const { key = '' } of listed) this.#listed.delete(key);
  }

  /**
   * Ends the listed uses that are gone, and whose end the engine does not report. Returns the keys
   * of all that have ended.
   */
  #noteGone(current: ReadonlyMap<string, OpenUse>, now: number): ReadonlySet<string> {
    const reported = new Set(this.#waiting.flatMap(({ key }) => key ?? []));
    for (const [key, use] of this.#listed) {
      if (this.#isErased(use)) this.#listed.delete(key);
      else if (!current.has(key) && !reported.has(key)) {
        this.#waiting.push({ ...use, until: now });
        reported.add(key);
      }
    }
    return reported;
  }

  /** The lines that end a use. */
  #entriesOf(use: WaitingUse, isNewDay: boolean): LogEntry[] {
    const { key, until, is_provisional } = use;
    const ended: LogEntry = { entry: 'ended', ...this.#shortened(use) };
    if (key === undefined || !this.#listed.has(key)) return [ended];
    if (is_provisional) return [{ entry: 'replaced', key }];
    if (!isNewDay) return [{ entry: 'closed', key, until }];
    // An earlier day's file has the start. A question about today must find the use in this one.
    return [ended, { entry: 'replaced', key }];
  }

  #takeEnded(now: number): void {
    const { uses, lost } = this.#options.engine.takeEndedUses();
    const room = Math.max(0, maxWaiting - this.#waiting.length);
    this.#waiting = this.#waiting.concat(uses.slice(0, room));
    this.#miss(lost + Math.max(0, uses.length - room), now);
  }

  #isErased(use: ExitUse): boolean {
    return this.#people().has(personOf(use));
  }

  /** Drops the fields that the setting forbids. */
  #shortened<Use extends ExitUse>(use: Use): Use {
    if (this.#options.settings.mode === 'destinations') return use;
    return { ...use, destination: undefined, dialled: undefined };
  }

  /** False: there is no room for these lines and `restBytes`. Errors: those of the disk. */
  async #append(
    entries: readonly LogEntry[],
    now: number,
    { restBytes = 0 } = {},
  ): Promise<boolean> {
    const lines = Buffer.concat(entries.map((entry) => encodeLine(encodeEntry(entry))));
    if (!this.#makeRoom(lines.length + restBytes, dayOf(now))) return false;
    const file = await this.#open(dayOf(now));
    // The last line of the file may be cut off.
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

  /** Whether the clock jumped lately: a wrong clock would remove days too early. */
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
    // A power cut during an erasure may have left lines in unfinished files.
    removeUnfinishedIn(dir);
    const erased = this.#people();
    const people = new Set(erased.pending);
    if (people.size === 0) return;
    // The open file may be one of those that are replaced.
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
