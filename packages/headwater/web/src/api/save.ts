/** Save a file from the page. */
export function save(name: string, blob: Blob): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  // The browser reads the file after this function returns.
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
