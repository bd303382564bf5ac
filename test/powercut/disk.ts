// A disk at the moment at which the power fails: from a trace, and the freedom that a file system
// has with what is not synced.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Random } from '../../server/test/random.ts';
import { Content } from './content.ts';
import { type Call, marks } from './trace.ts';

/**
 * Which names an fsync brings to the disk: `journal` all of them, and those after it in their order
 * (ext4); `own` those of the file or the folder itself (btrfs); `posix` those in the folder that is
 * synced, and no other.
 */
export const rules = ['journal', 'own', 'posix'] as const;
export type Rule = (typeof rules)[number];

const sector = 512;

interface File {
  kind: 'file';
  content: Content;
  /** As the process sees it. */
  seen: Content;
  /** Since its last fsync. */
  pending: Call[];
  /**
   * The pages that an fsync failed to bring to the disk: clean for the system, and not written
   * until they are written to.
   */
  lost: Set<number>;
}
interface Folder {
  kind: 'folder';
  names: Map<string, Entry>;
  /**
   * By name, the newest change that is on the disk: an older one that comes later changes nothing.
   */
  newest: Map<string, number>;
}
type Entry = File | Folder;

/** A change of names, which happens whole or not at all. */
interface Naming {
  number: number;
  entry: Entry;
  steps: Array<{ folder: Folder; name: string; entry: Entry | undefined }>;
}

function newFile(): File {
  const [content, seen] = [new Content(), new Content()];
  return { kind: 'file', content, seen, pending: [], lost: new Set() };
}

function newFolder(): Folder {
  return { kind: 'folder', names: new Map(), newest: new Map() };
}

export class Disk {
  readonly #rule: Rule;
  readonly #random: Random;
  readonly #root = newFolder();
  readonly #byInode = new Map<number, Entry>();
  /** As the process sees them, by path. */
  readonly #folders = new Map<string, Folder>([['', this.#root]]);
  #namings: Naming[] = [];
  #numbers = 0;

  constructor(calls: readonly Call[], rule: Rule, random: Random) {
    this.#rule = rule;
    this.#random = random;
    for (const call of calls) this.#apply(call);
    this.#fail();
  }

  #apply(call: Call): void {
    const { inode, path, other } = call;
    const file = this.#byInode.get(inode);
    if (call.call === 'root') this.#byInode.set(inode, this.#root);
    else if (call.call === 'create') {
      this.#begin(inode, path, newFile());
    } else if (call.call === 'mkdir') {
      const folder = newFolder();
      this.#folders.set(path, folder);
      this.#begin(inode, path, folder);
    } else if (!file) throw new Error(`${call.call} of a file that was not created: ${path}`);
    else if (call.call === 'unlink') this.#name(file, [[path, undefined]]);
    else if (call.call === 'link') this.#name(file, [[other, file]]);
    else if (call.call === 'rename') {
      if (file.kind === 'folder') throw new Error(`${path}: folders that move are not known`);
      const steps: Array<[string, Entry | undefined]> = [
        [path, undefined],
        [other, file],
      ];
      this.#name(file, steps);
    } else if (call.call === 'fsync') this.#sync(file);
    else if (call.call === 'failed') this.#lose(file as File);
    else if (file.kind === 'file') change(file, call);
  }

  /**
   * An fsync failed: of what it was to bring to the disk chance has brought some there, and the
   * rest is not tried again.
   */
  #lose(file: File): void {
    this.#failFile(file);
    for (const { call, offset, bytes } of file.pending) {
      if (call === 'write') for (const page of pagesOf(offset, bytes.length)) file.lost.add(page);
    }
    file.pending = file.pending.filter(({ call }) => call === 'truncate');
  }

  #begin(inode: number, path: string, entry: Entry): void {
    this.#byInode.set(inode, entry);
    this.#name(entry, [[path, entry]]);
  }

  #name(entry: Entry, steps: Array<[path: string, entry: Entry | undefined]>): void {
    this.#namings.push({
      number: ++this.#numbers,
      entry,
      steps: steps.map(([path, entry]) => {
        const cut = path.lastIndexOf('/');
        const folder = this.#folders.get(path.slice(0, Math.max(cut, 0)));
        if (!folder) throw new Error(`${path} is in a folder that was not made`);
        return { folder, name: path.slice(cut + 1), entry };
      }),
    });
  }

  #sync(entry: Entry): void {
    if (entry.kind === 'file') {
      for (const call of entry.pending) entry.content.apply(call);
      entry.pending = [];
    }
    this.#settle((naming) => {
      if (this.#rule === 'journal') return true;
      if (this.#rule === 'own' && naming.entry === entry) return true;
      return naming.steps.some(({ folder }) => folder === entry);
    });
  }

  /** Brings those changes of names to the disk that `isKept`, and leaves the others pending. */
  #settle(isKept: (naming: Naming) => boolean): void {
    this.#namings = this.#namings.filter((naming) => {
      if (!isKept(naming)) return true;
      for (const { folder, name, entry } of naming.steps) {
        if ((folder.newest.get(name) ?? 0) > naming.number) continue;
        folder.newest.set(name, naming.number);
        if (entry) folder.names.set(name, entry);
        else folder.names.delete(name);
      }
      return false;
    });
  }

  /** The power fails: of what is not synced the disk has whatever chance left on it. */
  #fail(): void {
    const random = this.#random;
    const chance = random.one([0, 0.5, 1]);
    let goesOn = true;
    this.#settle(() => {
      goesOn = random.next() < chance && (goesOn || this.#rule !== 'journal');
      return goesOn;
    });
    for (const entry of new Set(this.#byInode.values())) {
      if (entry.kind === 'file') this.#failFile(entry);
    }
  }

  #failFile(file: File): void {
    const random = this.#random;
    const how = random.one(['none', 'all', 'torn', 'subset'] as const);
    const whole = how === 'torn' ? random.between(0, file.pending.length) : file.pending.length;
    if (how === 'none') return;
    for (const [at, call] of file.pending.entries()) {
      if (how === 'subset') {
        if (call.call === 'truncate' && random.next() < 0.5) file.content.apply(call);
        for (const [from, to] of sectorsOf(call)) {
          if (random.next() < 0.5) file.content.apply(call, from, to);
        }
      } else if (at < whole) file.content.apply(call);
      else if (at === whole && call.call === 'write') {
        const sectors = sectorsOf(call);
        const torn = sectors[random.between(0, sectors.length - 1)] as [number, number];
        file.content.apply(call, 0, torn[0]);
      }
    }
  }

  /** Writes it below a folder that exists. */
  copyTo(target: string, folder: Folder = this.#root): void {
    for (const [name, entry] of folder.names) {
      const path = join(target, name);
      if (entry.kind === 'file') {
        if (name !== marks) writeFileSync(path, entry.content.bytes, { mode: 0o600 });
      } else {
        mkdirSync(path, { mode: 0o700 });
        this.copyTo(path, entry);
      }
    }
  }
}

/** The parts of a write that a disk takes whole: each within one sector. */
function sectorsOf({ offset, bytes }: Call): Array<[from: number, to: number]> {
  const sectors: Array<[number, number]> = [];
  for (let from = 0; from < bytes.length; ) {
    const to = Math.min(bytes.length, from + sector - ((offset + from) % sector));
    sectors.push([from, to]);
    from = to;
  }
  return sectors;
}

const pageBytes = 4096;

function pagesOf(offset: number, length: number): number[] {
  const first = Math.floor(offset / pageBytes);
  const last = Math.floor((offset + length - 1) / pageBytes);
  return Array.from({ length: last - first + 1 }, (_, at) => first + at);
}

/**
 * The system writes whole pages: what was lost of one comes to the disk with what is written to it
 * later.
 */
function change(file: File, call: Call): void {
  file.seen.apply(call);
  file.pending.push(call);
  if (call.call !== 'write' || file.lost.size === 0) return;
  for (const page of pagesOf(call.offset, call.bytes.length)) {
    if (!file.lost.delete(page)) continue;
    const offset = page * pageBytes;
    const bytes = Buffer.from(file.seen.bytes.subarray(offset, offset + pageBytes));
    file.pending.push({ ...call, offset, bytes });
  }
}
