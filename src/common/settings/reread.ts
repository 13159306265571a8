import { statSync } from 'node:fs';
import { loadSettings, type Settings, settingsFile } from './settings.js';

/** Reads the settings again where their file has changed, else returns those of the last time. null: there is no file. */
export function rereading(flags: Readonly<Record<string, unknown>>): (() => Settings) | null {
  const file = settingsFile(flags);
  if (file === null) return null;
  let seen = '';
  let last: () => Settings = () => loadSettings({ flags });
  return () => {
    const { mtimeMs, size } = statSync(file);
    if (seen !== `${mtimeMs} ${size}`) {
      seen = `${mtimeMs} ${size}`;
      last = outcome(() => loadSettings({ flags }));
    }
    return last();
  };
}

/** The same result each time, be it an error. */
function outcome<T>(work: () => T): () => T {
  try {
    const made = work();
    return () => made;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
