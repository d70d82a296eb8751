// Exits with 0 if the library works when built by someone else's rules.
#include <bhclust/version.hpp>
#include <iostream>

int main() { std::cout << "bhclust " << bhclust::version << '\n'; }
