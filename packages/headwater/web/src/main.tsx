import "./styles/tokens.css";
import "./styles/base.css";
import { QueryClientProvider } from "@tanstack/react-query";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { queries } from "./api/answers";
import { App } from "./app/App";
import { Boundary } from "./components/Boundary";
import { ChunkLoadError } from "./components/lazyView";

const root = document.getElementById("root");
if (root) {
  // The page shows failed chunk loads; other errors are also logged to the console.
  const onCaughtError = (error: unknown) => error instanceof ChunkLoadError || console.error(error);
  createRoot(root, { onCaughtError }).render(
    <StrictMode>
      <QueryClientProvider client={queries}>
        <Boundary about="">
          <App />
        </Boundary>
      </QueryClientProvider>
    </StrictMode>,
  );
}
