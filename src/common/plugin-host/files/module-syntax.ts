import { type Token, tokensOf } from './tokens.js';

/** A static `import` or `export … from`. */
export interface StaticImport {
  readonly from: string;
  /** Names that the other module must export. */
  readonly names: readonly string[];
  readonly line: number;
}

/** What a module has to do with others, and how to make a function of it. */
export interface ModuleSyntax {
  readonly imports: readonly StaticImport[];
  /** Texts in `import('…')` and `require('…')`. */
  readonly later: readonly string[];
  /** Of `export * from`: indexes of `imports`. */
  readonly stars: readonly number[];
  /** The same code with its imports and exports taken out, every line at its place. */
  readonly body: string;
  /** Declarations of what it imports: from `$imports[i]`. */
  readonly bindings: string;
  /** What it exports: name → an expression. */
  readonly exports: ReadonlyMap<string, string>;
  /** Has it an import, an export or `import.meta`? Otherwise it is a script. */
  readonly isModule: boolean;
}

/** Reads the imports and exports of a file. Of a file with a syntax error it returns something that has one, too. */
export function readModule(code: string): ModuleSyntax {
  return new Reader(code.replace(/^#!/, '//')).read();
}

class Reader {
  readonly #tokens: readonly Token[];
  readonly #imports: StaticImport[] = [];
  readonly #later: string[] = [];
  readonly #stars: number[] = [];
  readonly #bindings: string[] = [];
  readonly #exports = new Map<string, string>();
  readonly #edits: { readonly start: number; readonly end: number; readonly text: string }[] = [];
  #isModule = false;

  constructor(readonly code: string) {
    this.#tokens = tokensOf(code);
  }

  read(): ModuleSyntax {
    for (let i = 0; i < this.#tokens.length; i++) {
      const { kind, text, depth } = this.#tokens[i]!;
      if (kind !== 'word' || this.#text(i - 1) === '.' || this.#text(i - 1) === '?.') continue;
      if (text === 'import') i = this.#import(i);
      else if (text === 'export' && depth === 0) i = this.#export(i);
      else if (text === 'require' && this.#text(i + 1) === '(' && this.#tokens[i + 2]?.kind === 'text')
        this.#later.push(unquoted(this.#text(i + 2)));
    }
    return {
      ...{ imports: this.#imports, later: this.#later, stars: this.#stars, body: this.#edited() },
      ...{ bindings: this.#bindings.join(' '), exports: this.#exports, isModule: this.#isModule },
    };
  }

  #text(i: number): string {
    return this.#tokens[i]?.text ?? '';
  }

  #replace(from: number, to: number, text: string): void {
    this.#edits.push({ start: this.#tokens[from]!.start, end: this.#tokens[to]!.end, text });
  }

  #edited(): string {
    let at = 0;
    let made = '';
    for (const { start, end, text } of this.#edits) {
      // The lines stay.
      made += this.code.slice(at, start) + text + this.code.slice(start, end).replace(/[^\n\r]+/g, '');
      at = end;
    }
    return made + this.code.slice(at);
  }

  /** Returns the index of the last token that it took. */
  #import(i: number): number {
    const next = this.#text(i + 1);
    // A method or a property of that name.
    if (next === ':' || (next === '(' && this.#isMethod(i))) return i;
    if (next === '(') {
      this.#replace(i, i, '$import');
      if (this.#tokens[i + 2]?.kind === 'text') this.#later.push(unquoted(this.#text(i + 2)));
      return i + 1;
    }
    if (next === '.') {
      this.#isModule = true;
      this.#replace(i, i + 2, '$meta');
      return i + 2;
    }
    if (this.#tokens[i]!.depth > 0) return i;
    this.#isModule = true;
    const names: string[] = [];
    const index = this.#imports.length;
    const source = `$imports[${index}]`;
    let at = i + 1;
    while (at < this.#tokens.length && this.#tokens[at]!.kind !== 'text' && this.#text(at) !== ';') {
      const text = this.#text(at);
      if (text === '{') {
        const [end, pairs] = this.#list(at);
        for (const [name, local] of pairs) {
          names.push(name);
          this.#bindings.push(`const ${local} = ${source}[${JSON.stringify(name)}];`);
        }
        at = end + 1;
      } else if (text === '*') {
        this.#bindings.push(`const ${this.#text(at + 2)} = ${source};`);
        at += 3;
      } else {
        if (this.#tokens[at]!.kind === 'word' && text !== 'from') {
          names.push('default');
          this.#bindings.push(`const ${text} = ${source}.default;`);
        }
        at++;
      }
    }
    return this.#from(i, at, names);
  }

  /** Is `import(` the head of a method? Then a block follows its parameters. */
  #isMethod(i: number): boolean {
    const { depth } = this.#tokens[i]!;
    let end = i + 2;
    while (end < this.#tokens.length && !(this.#text(end) === ')' && this.#tokens[end]!.depth === depth))
      end++;
    return this.#text(end + 1) === '{';
  }

  /** `text`: the index of the module's name. */
  #from(first: number, text: number, names: readonly string[]): number {
    const token = this.#tokens[text];
    if (token?.kind !== 'text') return first;
    const { start } = this.#tokens[first]!;
    const line = this.code.slice(0, start).split('\n').length;
    this.#imports.push({ from: unquoted(token.text), names, line });
    let last = text;
    const next = this.#tokens[text + 1];
    const hasAttributes = (next?.text === 'with' || next?.text === 'assert') && this.#text(text + 2) === '{';
    if (hasAttributes) while (last < this.#tokens.length - 1 && this.#text(last) !== '}') last++;
    if (this.#text(last + 1) === ';') last++;
    this.#replace(first, last, ';');
    return last;
  }

  /** `{ a, b as c, "d" as e }`: the index of its end, and pairs of what it names. */
  #list(open: number): [number, (readonly [string, string])[]] {
    const pairs: (readonly [string, string])[] = [];
    let at = open + 1;
    for (; at < this.#tokens.length && this.#text(at) !== '}'; at++) {
      if (this.#text(at) === ',') continue;
      const name = nameOf(this.#tokens[at]!);
      if (this.#text(at + 1) === 'as') {
        pairs.push([name, nameOf(this.#tokens[at + 2]!)]);
        at += 2;
      } else pairs.push([name, name]);
    }
    return [at, pairs];
  }

  #export(i: number): number {
    const next = this.#text(i + 1);
    // `export` as a name: `exports.export = …` has a dot, `{ export: 1 }` is deeper.
    if (!/^(?:[{*]|default|const|let|var|function|class|async)$/.test(next)) return i;
    this.#isModule = true;
    if (next === '{') return this.#exportList(i);
    if (next === '*') return this.#exportAll(i);
    if (next === 'default') return this.#exportDefault(i);
    this.#replace(i, i, '');
    if (next === 'const' || next === 'let' || next === 'var') {
      for (const name of this.#declared(i + 2)) this.#exports.set(name, name);
      return i + 1;
    }
    const name = this.#nameAfter(i + 1);
    this.#exports.set(name, name);
    return i + 1;
  }

  /** The name of a function or class that is declared from there on; '': it has none. */
  #nameAfter(i: number): string {
    let at = i;
    while (['async', 'function', 'class', '*'].includes(this.#text(at))) at++;
    const token = this.#tokens[at];
    return token?.kind === 'word' && token.text !== 'extends' ? token.text : '';
  }

  #exportDefault(i: number): number {
    const text = this.#text(i + 2);
    const isFunction = text === 'function' || (text === 'async' && this.#text(i + 3) === 'function');
    if (isFunction || text === 'class') {
      const name = this.#nameAfter(i + 2);
      this.#exports.set('default', name === '' ? '$default' : name);
      this.#replace(i, i + 1, '');
      if (name !== '') return i + 2;
      let last = i + 2;
      while (['function', '*'].includes(this.#text(last + 1))) last++;
      const end = this.#tokens[last]!.end;
      this.#edits.push({ start: end, end, text: ' $default' });
      return last;
    }
    this.#exports.set('default', '$default');
    this.#replace(i, i + 1, 'const $default =');
    return i + 1;
  }

  #exportList(i: number): number {
    const [end, pairs] = this.#list(i + 1);
    if (this.#text(end + 1) === 'from') {
      const source = `$imports[${this.#imports.length}]`;
      for (const [name, shown] of pairs) this.#exports.set(shown, `${source}[${JSON.stringify(name)}]`);
      return this.#from(
        i,
        end + 2,
        pairs.map(([name]) => name),
      );
    }
    for (const [name, shown] of pairs) this.#exports.set(shown, name);
    this.#replace(i, end, ';');
    return end;
  }

  #exportAll(i: number): number {
    const isNamed = this.#text(i + 2) === 'as';
    if (isNamed) this.#exports.set(nameOf(this.#tokens[i + 3]!), `$imports[${this.#imports.length}]`);
    else this.#stars.push(this.#imports.length);
    return this.#from(i, i + (isNamed ? 5 : 3), []);
  }

  /** Names that `const a = 1, { b, c: [d] } = …` declares, from the first one on. */
  #declared(from: number): string[] {
    const names: string[] = [];
    let at = from;
    while (at < this.#tokens.length) {
      at = this.#pattern(at, names);
      // The value, to the comma or the end of the statement.
      while (at < this.#tokens.length && !this.#endsValue(at)) at++;
      if (this.#text(at) !== ',') break;
      at++;
    }
    return names;
  }

  /** A name, or a pattern of names; returns the index after it. */
  #pattern(at: number, names: string[]): number {
    const first = this.#tokens[at]!;
    if (first.kind === 'word') {
      names.push(first.text);
      return at + 1;
    }
    let i = at + 1;
    for (; i < this.#tokens.length; i++) {
      const { kind, text, depth } = this.#tokens[i]!;
      if ((text === '}' || text === ']') && depth === first.depth) return i + 1;
      const before = this.#text(i - 1);
      const after = this.#text(i + 1);
      // Not a key before its pattern, nor a word of a default value.
      if (kind === 'word' && after !== ':' && ['{', '[', ',', ':', '...'].includes(before)) names.push(text);
      if (text === '=') i = this.#skipDefault(i, this.#tokens[i]!.depth) - 1;
    }
    return i;
  }

  #skipDefault(from: number, depth: number): number {
    let i = from + 1;
    for (; i < this.#tokens.length; i++) {
      const token = this.#tokens[i]!;
      if (token.depth < depth || (token.depth === depth && token.text === ',')) break;
    }
    return i;
  }

  /** Does the value of a declaration end before this token? */
  #endsValue(i: number): boolean {
    const token = this.#tokens[i]!;
    if (token.depth > 0) return false;
    if (token.text === ',' || token.text === ';') return true;
    const before = this.#tokens[i - 1]!;
    const ended = before.kind !== 'mark' || [')', ']', '}', '++', '--'].includes(before.text);
    const begins = token.kind !== 'mark' && !['in', 'instanceof', 'of', 'as'].includes(token.text);
    const isWord =
      before.kind === 'word' &&
      ['await', 'new', 'typeof', 'void', 'delete', 'in', 'instanceof', 'async', 'extends'].includes(
        before.text,
      );
    return token.onNewLine && ended && !isWord && (begins || token.text === '{' || token.text === '@');
  }
}

const nameOf = ({ kind, text }: Token): string => (kind === 'text' ? unquoted(text) : text);

/** The value of a text in quotes. */
function unquoted(text: string): string {
  return text.slice(1, -1).replace(/\\(.)/g, '$1');
}
