import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { root } from '../support/root.js';

/**
 * Words that comments and pages do not use: they describe programs as persons, or are out of use. Each has a plain
 * replacement: report, return, require, after, rarely, expensive, another caller, no worker, is, contains.
 */
const retired =
  /\b(?:tells?|told|telling|says?|said|saying|knows|knew|hears?|heard|stands?|seldom|behind|whoever|whomever|somebody|anybody|everybody|nobody|dear|dearer|anew|lest|upon|hence|thence|whence|thereof|therein|thereby|whereby|wherein|of lately|by way of|doors?)\b/i;

function* filesIn(folder: string): Generator<string> {
  for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
    const path = `${folder}/${entry.name}`;
    if (entry.isDirectory()) yield* filesIn(path);
    else if (/\.(?:ts|proto|md)$/.test(entry.name)) yield path;
  }
}

const sources = ['src', 'plugins', 'workers', 'proto', 'docs'];
const texts = [...sources.flatMap((folder) => [...filesIn(folder)]), 'README.md', 'CHANGELOG.md'];

const comment = /^\s*(?:\/\/|\/?\*(?!\w))|\s\/\/\s/;

/** The lines of a file that people read as text, without code in backticks. */
function proseOf(path: string): [line: number, text: string][] {
  const isPage = path.endsWith('.md');
  let isCode = false;
  const found: [number, string][] = [];
  for (const [i, line] of readFileSync(join(root, path), 'utf8').split('\n').entries()) {
    if (isPage && line.trimStart().startsWith('```')) isCode = !isCode;
    else if (isPage ? !isCode : comment.test(line))
      found.push([i + 1, (isPage ? line : line.slice(line.search(comment))).replace(/`[^`]*`/g, '')]);
  }
  return found;
}

const retiredIn = (path: string): string[] =>
  proseOf(path).flatMap(([line, text]) => {
    const word = retired.exec(text)?.[0];
    return word === undefined ? [] : [`${path}:${line}: ${word}`];
  });

const testTitle = /\b(?:it|describe)(?:\.\w+)?\(\s*(['"`])((?:\\.|(?!\1)[^\\])*)\1/g;

/** The titles of a test file, without what is computed in them. */
const titlesOf = (path: string): string[] =>
  [...readFileSync(join(root, path), 'utf8').matchAll(testTitle)].map(([, , title]) =>
    title!.replace(/\$\{[^}]*\}/g, ''),
  );

const declared =
  /^export (?:declare )?(?:abstract )?(?:class|interface|type|enum) (\w+)(?![^;={]*=\s*\w+\s*;)/gm;

/** Type names that are still declared in several files with different meanings. Only ever shorter. */
const ambiguous = new Set(['BodyReader', 'TokenCounter', 'Place']);

describe('Words of the source and its pages', () => {
  it('are plain: no retired word in comments and pages', () => {
    expect(texts.flatMap(retiredIn)).to.deep.equal([]);
  });

  it('are plain in the titles of tests', () => {
    const found = [...filesIn('test')]
      .filter((path) => path.endsWith('.ts'))
      .flatMap((path) => titlesOf(path).map((title) => `${path}: ${title}`))
      .filter((line) => retired.test(line));
    expect(found).to.deep.equal([]);
  });

  it('give each exported type its own name', () => {
    const files = new Map<string, string[]>();
    // The messages of the proto files have the names of the records that the store keeps.
    for (const path of texts.filter((each) => each.endsWith('.ts') && each !== 'proto/messages.ts'))
      for (const [, name] of readFileSync(join(root, path), 'utf8').matchAll(declared))
        files.set(name!, [...(files.get(name!) ?? []), path]);
    const several = [...files].filter(([name, paths]) => paths.length > 1 && !ambiguous.has(name));
    expect(several).to.deep.equal([]);
  });
});
