import { expect, test } from "vitest";
import { codeText, codeUrl } from "./repository";

const code = (repoUrl: string) => ({ repoUrl, path: "jobs/a b.py", version: "9f3c2a71d0" });

test.each([
  ["https://github.com/shop/etl", "https://github.com/shop/etl/blob/9f3c2a71d0/jobs/a%20b.py"],
  ["git@github.com:shop/etl.git", "https://github.com/shop/etl/blob/9f3c2a71d0/jobs/a%20b.py"],
  ["ssh://git@github.example.org:22/shop/etl.git", "https://github.example.org/shop/etl/blob/9f3c2a71d0/jobs/a%20b.py"],
  ["https://ann:secret@gitlab.com/shop/data/etl.git/", "https://gitlab.com/shop/data/etl/-/blob/9f3c2a71d0/jobs/a%20b.py"],
  ["git@gitlab.shop.org:etl.git", "https://gitlab.shop.org/etl/-/blob/9f3c2a71d0/jobs/a%20b.py"],
  ["https://bitbucket.org/shop/etl.git", "https://bitbucket.org/shop/etl/src/9f3c2a71d0/jobs/a%20b.py"],
])("%s has a page for the commit", (repoUrl, url) => {
  expect(codeUrl(code(repoUrl))).toBe(url);
});

test.each(["https://git.example.org/shop/etl", "/home/ann/etl", "javascript:alert(1)//github.com/a", "http://github.com", ""])("%j has no known page", (repoUrl) => {
  expect(codeUrl(code(repoUrl))).toBeNull();
});

test("link needs a commit and leads to the repository without a path", () => {
  expect(codeUrl({ repoUrl: "https://github.com/shop/etl", path: "a.py" })).toBeNull();
  expect(codeUrl({ repoUrl: "https://github.com/shop/etl", version: "main" })).toBe("https://github.com/shop/etl/blob/main/");
  expect(codeUrl({})).toBeNull();
});

test("code text is its path and short commit", () => {
  expect(codeText(code("r"))).toBe("jobs/a b.py at 9f3c2a7");
  expect(codeText({ repoUrl: "r", version: "v1.2" })).toBe("r at v1.2");
  expect(codeText({ path: "a.py" })).toBe("a.py");
  expect(codeText({})).toBe("");
});
