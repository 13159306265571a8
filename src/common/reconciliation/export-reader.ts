import { CsvReader } from './csv.js';
import { dayOf, type ExportKind, flat, shapeOf, type UsageLine } from './usage-line.js';

/** Characters of a JSON file that is not a value a line. */
const maxWhole = 64 * 1024 * 1024;
/** Characters before the first record. */
const maxBlank = 1_000_000;
/** Lists and objects in each other; an export has five levels of them. */
const maxDepth = 32;

type Json = Readonly<Record<string, unknown>>;
type ReadLine = ReturnType<typeof shapeOf>;

/** Reads an export piece by piece: comma-separated values, or JSON, a value a line or one in all. Keeps a line at most. */
export class ExportReader {
  #csv: CsvReader | null = null;
  #columns: readonly string[] | null = null;
  #read: ReadLine | null = null;
  #isJson = false;
  /** Is the JSON one value over several lines? */
  #isWhole = false;
  /** The beginning of a line, as it came: joined again and again, a long one would take minutes. */
  #pieces: string[] = [];
  #length = 0;
  /** The line that was read last. */
  lines = 0;

  constructor(readonly kind: ExportKind) {}

  /** Lines that are complete with this text. Throws an Error that names the line and what is wrong with it. */
  *read(text: string): Generator<UsageLine> {
    if (this.#csv === null && !this.#isJson) {
      const first = /[^\s\uFEFF]/.exec(text)?.[0];
      this.#keep(text);
      if (first === undefined) {
        if (this.#length > maxBlank) throw new Error(`begins with more than ${maxBlank} blanks`);
        return;
      }
      this.#isJson = first === '{' || first === '[';
      if (!this.#isJson) this.#csv = new CsvReader();
      // The byte order mark that spreadsheets and PowerShell write.
      text = this.#rest().replace(/^\uFEFF/, '');
    }
    if (this.#csv !== null) for (const record of this.#csv.read(text)) yield* this.#record(record);
    else yield* this.#json(text);
  }

  *end(): Generator<UsageLine> {
    const last = this.#csv?.end() ?? null;
    if (last !== null) yield* this.#record(last);
    const rest = this.#isJson ? this.#rest() : '';
    if (rest.trim() !== '') yield* this.#value(rest);
    if (this.lines === 0 && this.#columns === null) throw new Error('is empty');
  }

  #keep(text: string): void {
    this.#pieces.push(text);
    this.#length += text.length;
  }

  /** What was kept; from now on nothing is. */
  #rest(): string {
    const text = this.#pieces.join('');
    this.#pieces = [];
    this.#length = 0;
    return text;
  }

  /** `path`: of the value within the JSON of its line. */
  #failed(message: string, path = ''): Error {
    return new Error(`line ${this.lines} ${path === '' ? '' : `at ${path} `}${message}`);
  }

  *#record(record: readonly string[]): Generator<UsageLine> {
    this.lines = this.#csv!.line;
    if (this.#columns === null) {
      this.#columns = record.map((name) => name.trim());
      const twice = this.#columns.find((name, i) => name !== '' && this.#columns!.indexOf(name) !== i);
      if (twice !== undefined)
        throw new Error(`has two columns named ${twice.slice(0, 80)}: remove one of them`);
      this.#read = shapeOf(this.kind, this.#columns);
      return;
    }
    if (record.every((value) => value.trim() === '')) return;
    const { length } = this.#columns;
    // Fewer: the file broke off. More: a value has a comma and no quotes.
    if (record.length < length || record.slice(length).some((value) => value.trim() !== ''))
      throw new Error(`line ${this.lines} has ${record.length} values for ${length} columns`);
    const fields: Record<string, string> = Object.create(null);
    for (const [i, name] of this.#columns.entries()) fields[name] = record[i] ?? '';
    let line: UsageLine | null;
    try {
      line = this.#read!(fields, null);
    } catch (error) {
      throw this.#failed((error as Error).message);
    }
    if (line !== null) yield line;
  }

  *#json(text: string): Generator<UsageLine> {
    let at = 0;
    while (!this.#isWhole) {
      const end = text.indexOf('\n', at);
      if (end === -1) break;
      const line = this.#rest() + text.slice(at, end);
      at = end + 1;
      this.#isWhole = this.lines === 0 && line.trim() !== '' && !isJson(line);
      if (this.#isWhole) this.#keep(`${line}\n`);
      else if (line.trim() !== '') yield* this.#value(line);
    }
    this.#keep(text.slice(at));
    this.#checkSize();
  }

  #checkSize(): void {
    if (this.#length > maxWhole)
      throw new Error(`is one JSON value of more than ${maxWhole} characters: write a value on each line`);
  }

  *#value(text: string): Generator<UsageLine> {
    let value: unknown;
    this.lines++;
    try {
      value = JSON.parse(text);
    } catch {
      throw new Error(`line ${this.lines} is no JSON`);
    }
    yield* this.#items(value, null, '');
  }

  /** A list, a page of buckets, a bucket of lines, or a line. */
  *#items(value: unknown, day: string | null, path: string, depth = 0): Generator<UsageLine> {
    if (depth > maxDepth) throw this.#failed(`is nested more than ${maxDepth} levels deep`);
    if (Array.isArray(value)) {
      for (const [i, item] of value.entries()) yield* this.#items(item, day, `${path}[${i}]`, depth + 1);
      return;
    }
    if (typeof value !== 'object' || value === null) throw this.#failed('is no object', path);
    const { data, results, start_time, starting_at } = value as Json;
    const under = (name: string): string => (path === '' ? name : `${path}.${name}`);
    if (Array.isArray(data)) {
      yield* this.#items(data, day, under('data'), depth + 1);
      return;
    }
    const start = start_time ?? starting_at;
    let ofResults = day;
    let line: UsageLine | null = null;
    try {
      if (!Array.isArray(results)) {
        const fields = flat(value as Json);
        line = shapeOf(this.kind, Object.keys(fields))(fields, day);
      } else if (start !== undefined) ofResults = dayOf(String(start));
    } catch (error) {
      throw this.#failed((error as Error).message, path);
    }
    if (Array.isArray(results)) yield* this.#items(results, ofResults, under('results'), depth + 1);
    else if (line !== null) yield line;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
