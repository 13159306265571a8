/** `onStatusCodes` → `on_status_codes`; anything that is not camel case stays. */
export function snakeCase(key: string): string {
  if (!/^[a-z][A-Za-z0-9]*[A-Z]/.test(key)) return key;
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
