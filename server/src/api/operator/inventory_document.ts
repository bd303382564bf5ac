// An inventory in JSON or CSV: written from the network; read and checked, every fault named.
import { isUtf8 } from 'node:buffer';
import { type CsvError, parse } from 'csv-parse/sync';
import type { TSchema } from 'typebox';
import { quoted } from '../../../../kit/src/quoted.ts';
import { ApiError, badRequest } from '../../errors.ts';
import { faultsIn } from '../../http/validation.ts';
import {
  type Inventory,
  type InventoryServer,
  type Present,
  rejectFaults,
  type WrittenServer,
} from '../../inventory/inventory.ts';
import {
  exitAddressOf,
  type NewServer,
  placeFields,
  placeText,
  serverHostname,
} from '../../servers/servers.ts';
import { exitFields, expected, serverFields } from './server_fields.ts';

/** A server as it was written, unchecked. */
interface Written {
  where: string;
  fields: Record<string, unknown>;
  exits: Array<{ where: string; fields: Record<string, unknown> }>;
}

/**
 * Reads an inventory, given the `present` network: a parsed JSON body, or the bytes of a CSV.
 * Errors: 400 that lists every fault with its row and field.
 */
export function readInventory(body: unknown, present: ReadonlyMap<string, Present>): Inventory {
  const faults: string[] = [];
  const written = Buffer.isBuffer(body) ? writtenInCsv(body, faults) : writtenInJson(body, faults);
  const servers = written.map((server) =>
    readServer(server, present.get(String(server.fields.name)), faults),
  );
  findRepeated(servers, faults);
  rejectFaults(faults, badRequest, 'inventory_invalid');
  const { remove_missing } = body as { remove_missing?: boolean };
  return { servers, remove_missing: remove_missing ?? false };
}

function writtenInJson(body: unknown, faults: string[]): Written[] {
  if (!isObject(body)) throw badRequest('The body: expected an object with servers.');
  const { servers, remove_missing, ...rest } = body;
  for (const name of Object.keys(rest))
    faults.push(`${quoted(name)}: is not a field of an inventory.`);
  if (remove_missing !== undefined && typeof remove_missing !== 'boolean') {
    faults.push('remove_missing: expected a boolean.');
  }
  if (!Array.isArray(servers)) {
    faults.push('servers: expected an array of servers.');
    return [];
  }
  const written: Written[] = [];
  for (const [at, server] of servers.entries()) {
    const where = `servers[${at}]`;
    if (!isObject(server)) {
      faults.push(`${where}: expected an object.`);
      continue;
    }
    const { exit_ips, ...fields } = server;
    if (!Array.isArray(exit_ips)) faults.push(`${where}, exit_ips: expected an array of exit IPs.`);
    const exits = (Array.isArray(exit_ips) ? exit_ips : []).map((exit, index) => ({
      where: `${where}.exit_ips[${index}]`,
      fields: isObject(exit) ? exit : {},
    }));
    written.push({ where, fields, exits });
  }
  return written;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

const csvNumbers = new Set(['latitude', 'longitude', 'port_base']);
const csvLists = new Set(['services', 'port_schemes']);
const csvColumns = [...Object.keys(serverFields), ...Object.keys(exitFields)];
const csvOptional = new Set(['port_schemes']);

/** One row for each exit IP, or one without any; rows with the same name are one server. */
function writtenInCsv(bytes: Buffer, faults: string[]): Written[] {
  const separator = separatorOf(bytes);
  const [header, ...rows] = withoutEmpty(csvRows(bytes, separator));
  if (!header)
    throw badRequest(`The CSV is empty; expected a first row with ${csvColumns.join(',')}.`);
  for (const column of csvColumns) {
    if (!header.cells.includes(column) && !csvOptional.has(column)) {
      faults.push(`row ${header.line}: the column ${column} is missing.`);
    }
  }
  for (const [at, column] of header.cells.entries()) {
    if (!csvColumns.includes(column))
      faults.push(`row ${header.line}: ${quoted(column)} is not a column of an inventory.`);
    else if (header.cells.indexOf(column) !== at)
      faults.push(`row ${header.line}: the column ${column} is given twice.`);
  }
  // Without the right columns, each row would only repeat the fault.
  rejectFaults(faults, badRequest, 'inventory_invalid');
  const servers = new Map<string, Written>();
  for (const { line, cells } of rows) {
    const where = `row ${line}`;
    if (cells.length !== header.cells.length) {
      faults.push(`${where}: has ${cells.length} cells; the first row has ${header.cells.length}.`);
      continue;
    }
    const texts = Object.fromEntries(header.cells.map((column, at) => [column, cells[at] ?? '']));
    const { ip, port_base, ...fields } = csvFields(texts, separator);
    const existing = servers.get(texts.name ?? '');
    const server = existing ?? { where, fields, exits: [] };
    if (!existing) servers.set(texts.name ?? '', server);
    for (const [field, value] of Object.entries(fields)) {
      if (JSON.stringify(value) !== JSON.stringify(server.fields[field])) {
        faults.push(`${where}, ${field}: differs from ${server.where}, which is the same server.`);
      }
    }
    if (texts.ip !== '' || texts.port_base !== '')
      server.exits.push({ where, fields: { ip, port_base } });
  }
  return Array.from(servers.values());
}

/** These servers as a CSV for `readInventory`: a row for each exit IP, or one without any. */
export function inventoryCsv(servers: readonly WrittenServer[]): string {
  const rows = servers.flatMap(({ exit_ips, ...server }) => {
    const exits = exit_ips.length > 0 ? exit_ips : [{ ip: '', port_base: '' }];
    return exits.map((exit) => {
      const fields: Record<string, unknown> = { ...server, ...exit };
      return csvColumns.map((column) => csvCell(fields[column]));
    });
  });
  return [csvColumns, ...rows].map((cells) => `${cells.join(',')}\r\n`).join('');
}

/** Numbers without an exponent, for CSV. The formatter is slow to create, and rarely needed. */
function textOf(value: unknown): string {
  const text = String(value);
  if (typeof value !== 'number' || !text.includes('e')) return text;
  return value.toLocaleString('en', { useGrouping: false, maximumFractionDigits: 100 });
}

/** Quoted if a reader would trim or split it (RFC 4180). */
function csvCell(value: unknown): string {
  const text = Array.isArray(value) ? value.join(';') : textOf(value);
  return /^[\w.:;@-]*$/.test(text) ? text : `"${text.replaceAll('"', '""')}"`;
}

interface CsvRow {
  line: number;
  cells: string[];
}

type Separator = ',' | ';' | '\t';

/** Spreadsheets write semicolons where the comma is the decimal point, or tabs. */
function separatorOf(bytes: Buffer): Separator {
  const [firstLine = ''] = bytes.toString().trimStart().split(/\r?\n/, 1);
  return ([',', ';', '\t'] as const).find((separator) => firstLine.includes(separator)) ?? ',';
}

/** The rows that have text, without the columns that have neither name nor text. */
function withoutEmpty(all: CsvRow[]): CsvRow[] {
  const rows = all.filter(({ cells }) => cells.some((cell) => cell !== ''));
  const width = Math.max(0, ...rows.map(({ cells }) => cells.length));
  const isUsed = Array.from({ length: width }, (_, at) => rows.some(({ cells }) => cells[at]));
  return rows.map(({ line, cells }) => ({ line, cells: cells.filter((_, at) => isUsed[at]) }));
}

function csvRows(bytes: Buffer, delimiter: Separator): CsvRow[] {
  if (!isUtf8(bytes) || bytes.includes(0)) throw badRequest('The CSV is not UTF-8 text.');
  try {
    const records = parse(bytes, {
      bom: true,
      delimiter,
      info: true,
      relax_column_count: true,
      skip_empty_lines: true,
      trim: true,
    }) as unknown as Array<{ record: string[]; info: { lines: number } }>;
    return records.map(({ record, info }) => ({ line: info.lines, cells: record }));
  } catch (error) {
    throw badRequest(`The CSV cannot be read: ${(error as CsvError).message}`);
  }
}

function csvFields(texts: Record<string, string>, separator: Separator): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(texts).map(([column, text]) => {
      if (csvNumbers.has(column)) return [column, numberIn(text, separator)];
      if (!csvLists.has(column)) return [column, text];
      const words = text.split(';').map((word) => word.trim());
      return [column, text === '' && csvOptional.has(column) ? undefined : words];
    }),
  );
}

/** A number as the spreadsheet writes it, or the text. */
function numberIn(text: string, separator: Separator): number | string {
  const number = separator === ',' ? text : text.replace(',', '.');
  return /^-?\d+(\.\d+)?$/.test(number) ? Number(number) : text;
}

function readServer(
  { where, fields, exits }: Written,
  present: Present | undefined,
  faults: string[],
): InventoryServer {
  checkFields(where, fields, serverFields, ['port_schemes'], faults);
  const addressOf = exitAddressOf(present?.exit_ips);
  const exit_ips = exits.map((exit) => {
    checkFields(exit.where, exit.fields, exitFields, [], faults);
    const ip = canonical(exit.where, exit.fields.ip, addressOf, faults);
    return { ip, port_base: exit.fields.port_base as number, where: exit.where };
  });
  const hostnameOf = (text: string) => serverHostname(text, present?.row);
  const hostname = canonical(where, fields.hostname, hostnameOf, faults);
  for (const field of placeFields) {
    canonical(where, fields[field], (text) => placeText(field, text, present?.row), faults);
  }
  return { ...(fields as unknown as NewServer), hostname, where, exit_ips };
}

function checkFields(
  where: string,
  fields: Record<string, unknown>,
  schemas: Record<string, TSchema>,
  optional: string[],
  faults: string[],
): void {
  for (const [field, schema] of Object.entries(schemas)) {
    const value = fields[field];
    if (value === undefined) {
      if (!optional.includes(field)) faults.push(`${where}, ${field}: is missing.`);
    } else if (faultsIn(schema, value).length > 0) {
      const got = typeof value === 'object' ? '' : `, not ${quoted(String(value))}`;
      faults.push(
        `${where}, ${field}: expected ${expected[field as keyof typeof expected]}${got}.`,
      );
    }
  }
  for (const field of Object.keys(fields)) {
    if (!(field in schemas)) faults.push(`${where}, ${quoted(field)}: is not a field here.`);
  }
}

/** The canonical spelling of an address or hostname; an invalid text becomes a fault. */
function canonical<T extends string>(
  where: string,
  value: unknown,
  spell: (text: string) => T,
  faults: string[],
): T {
  if (typeof value !== 'string' || value === '') return '' as T;
  try {
    return spell(value);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    // The schema may have said already what is wrong with the field.
    const isReported = faults.some((fault) => fault.startsWith(`${where}, ${error.field}:`));
    if (!isReported) faults.push(`${where}, ${error.message}`);
    return value as T;
  }
}

/** Names, hostnames and exit IPs are unique in the network, port bases on their server. */
function findRepeated(servers: InventoryServer[], faults: string[]): void {
  const seen = new Map<string, string>();
  const once = (where: string, field: string, value: unknown, scope = '') => {
    if (value === undefined || value === '') return;
    const key = `${scope} ${field} ${value}`;
    const first = seen.get(key);
    if (first === undefined) seen.set(key, where);
    else faults.push(`${where}, ${field}: ${quoted(String(value))} is given in ${first} already.`);
  };
  for (const server of servers) {
    once(server.where, 'name', server.name);
    once(server.where, 'hostname', server.hostname);
    for (const { where, ip, port_base } of server.exit_ips) {
      once(where, 'ip', ip);
      once(where, 'port_base', port_base, server.where);
    }
  }
}
